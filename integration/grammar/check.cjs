// Parses T-SQL with a grammar that is not ours: the public ANTLR grammar of T-SQL, as the package @dbml/core carries it. It knows the
// syntax only; names, types and what SQL Server does with it are beyond it. Arguments: .sql files, and .md files, whose sql blocks are taken.
const { Parser } = require('@dbml/core');
const fs = require('fs');

// The package turns the tables of a script into a model of its own after parsing and stumbles over some that it
// does not expect there (an INSERT into a table variable). What stands in a procedure it only parses.
const module_ = /^(\s|--.*\n|\/\*[^]*?\*\/)*CREATE\s+(OR\s+ALTER\s+)?(PROCEDURE|VIEW|FUNCTION|TRIGGER|SCHEMA)\b/i;
const wrap = batch => (module_.test(batch) ? batch : `CREATE PROCEDURE p AS BEGIN ${batch}\nEND;`);

function faults(batch) {
  try {
    Parser.parse(wrap(batch), 'mssql');
    return [];
  } catch (e) {
    return (e.diags || [e]).map(d => ({ line: d.location?.start?.line ?? 0, message: String(d.message ?? d).slice(0, 200) }));
  }
}

// scripts yields the texts of a file with the line that each begins at.
function* scripts(file) {
  const text = fs.readFileSync(file, 'utf8');
  if (!file.endsWith('.md')) {
    yield { text, line: 1 };
    return;
  }
  for (const m of text.matchAll(/^```sql\n([^]*?)^```/gm)) yield { text: m[1], line: text.slice(0, m.index).split('\n').length + 1 };
}

function* batches({ text, line }) {
  let batch = [];
  let start = line;
  for (const l of [...text.split('\n'), 'GO']) {
    if (/^\s*GO\s*$/i.test(l)) {
      if (batch.join('').trim()) yield { text: batch.join('\n'), line: start };
      start += batch.length + 1;
      batch = [];
    } else batch.push(l);
  }
}

// A parser that takes everything would prove nothing.
for (const wrong of ['SELEC 1;', 'SELECT 1 FROM;', 'CREATE OR ALTER PROCEDURE p AS BEGIN UPDATE t SET; END;', 'DELETE FROM t WITH (NOSUCHHINT WHERE a = 1;']) {
  if (faults(wrong).length === 0) throw new Error(`the parser takes ${wrong}`);
}

let files = 0;
let parsed = 0;
let refused = 0;
for (const file of process.argv.slice(2)) {
  files++;
  for (const script of scripts(file)) {
    for (const batch of batches(script)) {
      parsed++;
      for (const f of faults(batch.text)) {
        refused++;
        console.log(`${file}:${batch.line + Math.max(0, f.line - 1)}: ${f.message}`);
      }
    }
  }
}
console.log(`${files} files, ${parsed} batches, ${refused} faults`);
process.exit(refused || !parsed ? 1 : 0);
