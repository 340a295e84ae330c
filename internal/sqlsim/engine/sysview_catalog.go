package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// systemViews are the system views, by schema.name.
var systemViews = map[string]*systemView{}

// compatibilityViews are those that SQL Server resolves without the schema sys.
var compatibilityViews = map[string]bool{"sysobjects": true, "syscolumns": true, "sysindexes": true, "sysusers": true, "sysdatabases": true, "sysprocesses": true, "syslanguages": true}

const objectColumns = "name sysname, object_id int, principal_id int, schema_id int, parent_object_id int, type kind, type_desc desc, create_date datetime, modify_date datetime, is_ms_shipped bit, is_published bit, is_schema_published bit"

func objectRow(o *object) []any {
	return []any{o.name, o.id, o.ownerOrNil(), o.schema.id, o.parentID(), o.kind, kindDescription(o.kind), o.created, o.modified, o.system, false, false}
}

// ofKinds adds a row for each object of some types.
func ofKinds(v *viewer, kinds string, add func(vals ...any), more func(o *object) []any) {
	for _, o := range v.objects() {
		for _, k := range strings.Fields(kinds) {
			if o.kind == k {
				row := objectRow(o)
				if more != nil {
					row = append(row, more(o)...)
				}
				add(row...)
			}
		}
	}
}

func init() {
	for _, name := range []string{"sys.objects", "sys.all_objects"} {
		defineView(name, objectColumns, func(v *viewer, add func(...any)) {
			for _, o := range v.objects() {
				add(objectRow(o)...)
			}
		})
	}
	defineView("sys.tables", objectColumns+", lob_data_space_id int, filestream_data_space_id int, max_column_id_used int, lock_on_bulk_load bit, uses_ansi_nulls bit, is_replicated bit, has_replication_filter bit, is_merge_published bit, is_sync_tran_subscribed bit, has_unchecked_assembly_data bit, text_in_row_limit int, large_value_types_out_of_row bit, is_tracked_by_cdc bit, lock_escalation tinyint, lock_escalation_desc desc, is_filetable bit, is_memory_optimized bit, durability tinyint, durability_desc desc, temporal_type tinyint, temporal_type_desc desc, is_external bit", func(v *viewer, add func(...any)) {
		ofKinds(v, "U", add, func(o *object) []any {
			esc := map[string]int{"TABLE": 0, "DISABLE": 1, "AUTO": 2}[o.table.escalation]
			name := o.table.escalation
			if name == "" {
				name = "TABLE"
			}
			return []any{0, nil, o.table.nextColumn - 1, false, true, false, false, false, false, false, 0, false, false, esc, name, false, false, 0, "SCHEMA_AND_DATA", 0, "NON_TEMPORAL_TABLE", false}
		})
	})
	defineView("sys.views", objectColumns+", is_replicated bit, has_replication_filter bit, has_opaque_metadata bit, has_unchecked_assembly_data bit, with_check_option bit, is_date_correlation_view bit", func(v *viewer, add func(...any)) {
		ofKinds(v, "V", add, func(o *object) []any { return []any{false, false, false, false, o.module.ast.CheckOption, false} })
	})
	defineView("sys.procedures", objectColumns+", is_auto_executed bit, is_execution_replicated bit, is_repl_serializable_only bit, skips_repl_constraints bit", func(v *viewer, add func(...any)) {
		ofKinds(v, "P", add, func(o *object) []any { return []any{false, false, false, false} })
	})
	defineView("sys.triggers", "name sysname, object_id int, parent_class tinyint, parent_class_desc desc, parent_id int, type kind, type_desc desc, create_date datetime, modify_date datetime, is_ms_shipped bit, is_disabled bit, is_not_for_replication bit, is_instead_of_trigger bit", func(v *viewer, add func(...any)) {
		for _, o := range v.objects() {
			if o.kind == "TR" {
				add(o.name, o.id, 1, "OBJECT_OR_COLUMN", o.parentID(), "TR", "SQL_TRIGGER", o.created, o.modified, false, o.module.native.(*triggerInfo).disabled, false, false)
			}
		}
	})
	for _, name := range []string{"sys.sql_modules", "sys.all_sql_modules"} {
		defineView(name, "object_id int, definition text, uses_ansi_nulls bit, uses_quoted_identifier bit, is_schema_bound bit, uses_database_collation bit, is_recompiled bit, null_on_null_input bit, execute_as_principal_id int, uses_native_compilation bit, is_inlineable bit, inline_type bit", func(v *viewer, add func(...any)) {
			for _, o := range v.objects() {
				if m := o.module; m != nil {
					var def, as any
					if !m.ast.Encryption && v.p.definitionVisible(o) {
						def = m.text
					}
					switch {
					case m.executeAs == "OWNER":
						as = -2
					case m.executeAs != "" && m.executeAs != "CALLER":
						if u := v.db.principalNamed(strings.Trim(m.executeAs, "'")); u != nil {
							as = u.id
						}
					}
					add(o.id, def, m.ansiNulls, m.quotedIdentifier, m.ast.SchemaBinding, false, m.ast.Recompile, m.ast.NullOnNull, as, false, false, false)
				}
			}
		})
	}
	columns := "object_id int, name sysname, column_id int, system_type_id tinyint, user_type_id int, max_length smallint, precision tinyint, scale tinyint, collation_name sysname, is_nullable bit, is_ansi_padded bit, is_rowguidcol bit, is_identity bit, is_computed bit, is_filestream bit, is_replicated bit, is_non_sql_subscribed bit, is_merge_published bit, is_dts_replicated bit, is_xml_document bit, xml_collection_id int, default_object_id int, rule_object_id int, is_sparse bit, is_column_set bit, generated_always_type tinyint, generated_always_type_desc desc, is_hidden bit, is_masked bit"
	columnRow := func(o *object, c *column) []any {
		p, s := precisionScale(c.typ)
		def := int32(0)
		if c.def != nil {
			def = c.def.obj.id
		}
		return []any{o.id, c.name, c.id, systemTypeID(c.typ.Kind), c.userTypeID(), maxBytes(c.typ), p, s, collationName(c.typ), c.nullable, c.typ.Kind.IsCharacter() || c.typ.Kind.IsBinary(), c.rowGUID, c.identity, c.computed != nil, false, false, false, false, false, false, 0, def, 0, false, false, 0, "NOT_APPLICABLE", false, false}
	}
	eachColumn := func(v *viewer, f func(o *object, c *column)) {
		for _, o := range v.objects() {
			switch {
			case o.table != nil:
				for _, c := range o.table.columns {
					f(o, c)
				}
			case o.kind == "V" || o.kind == "IF" || o.kind == "TF":
				for _, c := range v.p.moduleColumns(o) {
					f(o, c)
				}
			}
		}
	}
	for _, name := range []string{"sys.columns", "sys.all_columns"} {
		defineView(name, columns, func(v *viewer, add func(...any)) {
			eachColumn(v, func(o *object, c *column) { add(columnRow(o, c)...) })
		})
	}
	defineView("sys.identity_columns", columns+", seed_value numeric, increment_value numeric, last_value numeric, is_not_for_replication bit", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, c := range o.table.columns {
				if id := o.table.identity; c.identity && id != nil {
					var last any
					if id.used.Load() {
						last = id.last.Load()
					}
					add(append(columnRow(o, c), id.seed, id.inc, last, false)...)
				}
			}
		}
	})
	defineView("sys.computed_columns", columns+", definition text, uses_database_collation bit, is_persisted bit", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, c := range o.table.columns {
				if c.computed != nil {
					add(append(columnRow(o, c), c.computedSrc, false, c.persisted)...)
				}
			}
		}
	})
	defineView("sys.types", "name sysname, system_type_id tinyint, user_type_id int, schema_id int, principal_id int, max_length smallint, precision tinyint, scale tinyint, collation_name sysname, is_nullable bit, is_user_defined bit, is_assembly_type bit, default_object_id int, rule_object_id int, is_table_type bit", func(v *viewer, add func(...any)) {
		for _, t := range systemTypes {
			var coll any
			if t.kind.IsCharacter() {
				coll = v.db.collation.Name()
			}
			add(t.name, t.id, t.user, 4, nil, t.size, t.prec, t.scal, coll, t.name != "sysname" && t.name != "timestamp", false, false, 0, 0, false)
		}
		for _, u := range v.userTypes() {
			if u.table != nil {
				add(u.name, 243, u.id, u.schema.id, nil, -1, 0, 0, nil, false, true, false, 0, 0, true)
				continue
			}
			p, s := precisionScale(u.typ)
			add(u.name, systemTypeID(u.typ.Kind), u.id, u.schema.id, nil, maxBytes(u.typ), p, s, collationName(u.typ), u.nullable, true, false, 0, 0, false)
		}
	})
	defineView("sys.table_types", "name sysname, system_type_id tinyint, user_type_id int, schema_id int, principal_id int, max_length smallint, is_nullable bit, is_user_defined bit, is_table_type bit, type_table_object_id int, is_memory_optimized bit", func(v *viewer, add func(...any)) {
		for _, u := range v.userTypes() {
			if u.table != nil {
				add(u.name, 243, u.id, u.schema.id, nil, -1, false, true, true, -u.id, false)
			}
		}
	})
	defineView("sys.schemas", "name sysname, schema_id int, principal_id int", func(v *viewer, add func(...any)) {
		for _, s := range v.schemas() {
			var owner any
			if s.owner != nil {
				owner = s.owner.id
			}
			add(s.name, s.id, owner)
		}
	})
	defineView("sys.indexes", "object_id int, name sysname, index_id int, type tinyint, type_desc desc, is_unique bit, data_space_id int, ignore_dup_key bit, is_primary_key bit, is_unique_constraint bit, fill_factor tinyint, is_padded bit, is_disabled bit, is_hypothetical bit, is_ignored_in_optimization bit, allow_row_locks bit, allow_page_locks bit, has_filter bit, filter_definition text, compression_delay int, suppress_dup_key_messages bit, auto_created bit, optimize_for_sequential_key bit", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, ix := range o.table.indexes {
				var name, filter any
				typ, desc := 2, "NONCLUSTERED"
				if ix.heap {
					typ, desc = 0, "HEAP"
				} else {
					name = ix.name
					if ix.clustered {
						typ, desc = 1, "CLUSTERED"
					}
				}
				if ix.filter != nil {
					filter = ix.filterSrc
				}
				add(o.id, name, ix.id, typ, desc, ix.unique, 1, ix.ignoreDup, ix.primary, ix.constraint != nil && !ix.primary, ix.fillFactor, ix.padIndex, ix.disabled, false, false, ix.rowLocks, ix.pageLocks, ix.filter != nil, filter, nil, false, false, ix.sequential)
			}
		}
	})
	defineView("sys.index_columns", "object_id int, index_id int, index_column_id int, column_id int, key_ordinal tinyint, partition_ordinal tinyint, is_descending_key bit, is_included_column bit, column_store_order_ordinal tinyint", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, ix := range o.table.indexes {
				n := 0
				for i, k := range ix.keys {
					n++
					add(o.id, ix.id, n, o.table.columns[k.column].id, i+1, 0, k.desc, false, 0)
				}
				for _, c := range ix.include {
					n++
					add(o.id, ix.id, n, o.table.columns[c].id, 0, 0, false, true, 0)
				}
			}
		}
	})
	defineView("sys.key_constraints", objectColumns+", unique_index_id int, is_system_named bit, is_enforced bit", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, ix := range o.table.indexes {
				if ix.constraint != nil {
					add(append(objectRow(ix.constraint), ix.id, strings.Contains(ix.name, "__"), true)...)
				}
			}
		}
	})
	defineView("sys.check_constraints", objectColumns+", is_disabled bit, is_not_for_replication bit, is_not_trusted bit, parent_column_id int, definition text, uses_database_collation bit, is_system_named bit", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, c := range o.table.checks {
				col := int32(0)
				if at := o.table.columnOrdinal(c.column); c.column != "" && at >= 0 {
					col = o.table.columns[at].id
				}
				add(append(objectRow(c.obj), c.disabled, false, !c.trusted, col, c.src, false, strings.Contains(c.obj.name, "__"))...)
			}
		}
	})
	defineView("sys.default_constraints", objectColumns+", parent_column_id int, definition text, is_system_named bit", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, c := range o.table.columns {
				if c.def != nil {
					add(append(objectRow(c.def.obj), c.id, c.def.src, strings.Contains(c.def.obj.name, "__"))...)
				}
			}
		}
	})
	action := func(s string) (int, string) {
		switch s {
		case "CASCADE":
			return 1, "CASCADE"
		case "SET NULL":
			return 2, "SET_NULL"
		case "SET DEFAULT":
			return 3, "SET_DEFAULT"
		}
		return 0, "NO_ACTION"
	}
	defineView("sys.foreign_keys", objectColumns+", referenced_object_id int, key_index_id int, is_disabled bit, is_not_for_replication bit, is_not_trusted bit, delete_referential_action tinyint, delete_referential_action_desc desc, update_referential_action tinyint, update_referential_action_desc desc, is_system_named bit", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, fk := range o.table.foreign {
				d, dn := action(fk.onDelete)
				u, un := action(fk.onUpdate)
				add(append(objectRow(fk.obj), fk.to.obj.id, fk.refIndex.id, fk.disabled, false, !fk.trusted, d, dn, u, un, fk.systemName)...)
			}
		}
	})
	defineView("sys.foreign_key_columns", "constraint_object_id int, constraint_column_id int, parent_object_id int, parent_column_id int, referenced_object_id int, referenced_column_id int", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, fk := range o.table.foreign {
				for i := range fk.cols {
					add(fk.obj.id, i+1, o.id, o.table.columns[fk.cols[i]].id, fk.to.obj.id, fk.to.columns[fk.refCols[i]].id)
				}
			}
		}
	})
	for _, name := range []string{"sys.parameters", "sys.all_parameters"} {
		defineView(name, "object_id int, name sysname, parameter_id int, system_type_id tinyint, user_type_id int, max_length smallint, precision tinyint, scale tinyint, is_output bit, is_cursor_ref bit, has_default_value bit, is_xml_document bit, default_value any, xml_collection_id int, is_readonly bit, is_nullable bit", func(v *viewer, add func(...any)) {
			for _, o := range v.objects() {
				if o.module == nil {
					continue
				}
				if o.kind == "FN" {
					t := o.module.returns
					p, s := precisionScale(t)
					add(o.id, "", 0, systemTypeID(t.Kind), systemTypeID(t.Kind), maxBytes(t), p, s, true, false, false, false, nil, 0, false, true)
				}
				for i, pr := range o.module.params {
					if u, ok := pr.tableType.(*userType); ok {
						add(o.id, pr.name, i+1, 243, u.id, -1, 0, 0, false, false, false, false, nil, 0, true, true)
						continue
					}
					p, s := precisionScale(pr.typ)
					add(o.id, pr.name, i+1, systemTypeID(pr.typ.Kind), systemTypeID(pr.typ.Kind), maxBytes(pr.typ), p, s, pr.output, false, false, false, nil, 0, pr.readonly, true)
				}
			}
		})
	}
	defineView("sys.sequences", objectColumns+", start_value bigint, increment bigint, minimum_value bigint, maximum_value bigint, is_cycling bit, is_cached bit, cache_size int, system_type_id tinyint, user_type_id int, precision tinyint, scale tinyint, current_value bigint, is_exhausted bit, last_used_value bigint", func(v *viewer, add func(...any)) {
		ofKinds(v, "SO", add, func(o *object) []any {
			s := o.sequence
			p, sc := precisionScale(s.typ)
			cur := s.current
			var size, last any
			if s.cache > 0 {
				size = s.cache
			}
			if s.used {
				if !s.exhausted {
					cur -= s.inc
				}
				last = cur
			}
			return []any{s.start, s.inc, s.min, s.max, s.cycle, !s.noCache, size, systemTypeID(s.typ.Kind), systemTypeID(s.typ.Kind), p, sc, cur, s.exhausted, last}
		})
	})
	defineView("sys.synonyms", objectColumns+", base_object_name str", func(v *viewer, add func(...any)) {
		ofKinds(v, "SN", add, func(o *object) []any {
			name := quoteName(o.target.Name)
			if o.target.Schema != "" {
				name = quoteName(o.target.Schema) + "." + name
			}
			if o.target.Database != "" {
				name = quoteName(o.target.Database) + "." + name
			}
			return []any{name}
		})
	})
	defineView("sys.partitions", "partition_id bigint, object_id int, index_id int, partition_number int, hobt_id bigint, rows bigint, filestream_filegroup_id smallint, data_compression tinyint, data_compression_desc desc", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, ix := range o.table.indexes {
				id := int64(o.id)<<16 | int64(ix.id)
				add(id, o.id, ix.id, 1, id, o.table.indexRows(ix), 0, 0, "NONE")
			}
		}
	})
	defineView("sys.dm_db_partition_stats", "partition_id bigint, object_id int, index_id int, partition_number int, in_row_data_page_count bigint, in_row_used_page_count bigint, in_row_reserved_page_count bigint, lob_used_page_count bigint, lob_reserved_page_count bigint, row_overflow_used_page_count bigint, row_overflow_reserved_page_count bigint, used_page_count bigint, reserved_page_count bigint, row_count bigint", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, ix := range o.table.indexes {
				rows := o.table.indexRows(ix)
				pages := rows/50 + 1
				add(int64(o.id)<<16|int64(ix.id), o.id, ix.id, 1, pages, pages, pages, 0, 0, 0, 0, pages, pages, rows)
			}
		}
	})
	defineView("sys.stats", "object_id int, name sysname, stats_id int, auto_created bit, user_created bit, no_recompute bit, has_filter bit, filter_definition text, is_temporary bit, is_incremental bit", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, ix := range o.table.indexes {
				if !ix.heap {
					var f any
					if ix.filter != nil {
						f = ix.filterSrc
					}
					add(o.id, ix.name, ix.id, false, false, ix.noRecompute, ix.filter != nil, f, false, false)
				}
			}
		}
	})
	defineView("sys.extended_properties", "class tinyint, class_desc desc, major_id int, minor_id int, name sysname, value any", func(v *viewer, add func(...any)) {
		v.p.srv.mu.RLock()
		defer v.p.srv.mu.RUnlock()
		for _, e := range v.db.properties {
			desc := map[int]string{0: "DATABASE", 1: "OBJECT_OR_COLUMN", 2: "PARAMETER", 3: "SCHEMA", 6: "TYPE", 7: "INDEX"}[e.class]
			add(e.class, desc, e.major, e.minor, e.name, e.val)
		}
	})
	defineView("sys.sql_expression_dependencies", "referencing_id int, referencing_minor_id int, referencing_class tinyint, referencing_class_desc desc, is_schema_bound_reference bit, referenced_class tinyint, referenced_class_desc desc, referenced_server_name sysname, referenced_database_name sysname, referenced_schema_name sysname, referenced_entity_name sysname, referenced_id int, referenced_minor_id int, is_caller_dependent bit, is_ambiguous bit", func(v *viewer, add func(...any)) {
		for _, o := range v.objects() {
			if o.module == nil {
				continue
			}
			for _, n := range moduleReferences(o.module) {
				var id, sch any
				if n.Schema != "" {
					sch = n.Schema
				}
				if r, err := v.p.lookup(n); err == nil && r != nil {
					id = r.id
				}
				add(o.id, 0, 1, "OBJECT_OR_COLUMN", o.module.ast.SchemaBinding, 1, "OBJECT_OR_COLUMN", nil, nil, sch, n.Name, id, 0, false, false)
			}
		}
	})
	// The old names.
	defineView("sys.sysobjects", "name sysname, id int, xtype kind, uid smallint, parent_obj int, crdate datetime, type kind", func(v *viewer, add func(...any)) {
		for _, o := range v.objects() {
			add(o.name, o.id, o.kind, o.schema.id, o.parentID(), o.created, o.kind)
		}
	})
	defineView("sys.syscolumns", "name sysname, id int, xtype tinyint, length smallint, colid smallint, isnullable int", func(v *viewer, add func(...any)) {
		eachColumn(v, func(o *object, c *column) {
			add(c.name, o.id, systemTypeID(c.typ.Kind), maxBytes(c.typ), c.id, bit(c.nullable))
		})
	})
	defineView("sys.sysindexes", "id int, indid smallint, name sysname, rows int, rowcnt bigint", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, ix := range o.table.indexes {
				add(o.id, ix.id, ix.name, o.table.indexRows(ix), o.table.indexRows(ix))
			}
		}
	})
	defineInformationSchema()
}

// indexRows is the number of entries of an index.
func (t *table) indexRows(ix *index) int64 {
	if ix.filter == nil && !ix.disabled {
		return t.data.Rows()
	}
	if ix.disabled {
		return 0
	}
	return t.data.Entries(ix.data)
}

func defineInformationSchema() {
	defineView("information_schema.schemata", "CATALOG_NAME sysname, SCHEMA_NAME sysname, SCHEMA_OWNER sysname, DEFAULT_CHARACTER_SET_NAME sysname", func(v *viewer, add func(...any)) {
		for _, s := range v.schemas() {
			owner := ""
			if s.owner != nil {
				owner = s.owner.name
			}
			add(v.db.name, s.name, owner, "iso_1")
		}
	})
	defineView("information_schema.tables", "TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, TABLE_TYPE vc", func(v *viewer, add func(...any)) {
		for _, o := range v.objects() {
			switch o.kind {
			case "U":
				add(v.db.name, o.schema.name, o.name, "BASE TABLE")
			case "V":
				add(v.db.name, o.schema.name, o.name, "VIEW")
			}
		}
	})
	defineView("information_schema.views", "TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, VIEW_DEFINITION text, CHECK_OPTION vc, IS_UPDATABLE vc", func(v *viewer, add func(...any)) {
		for _, o := range v.objects() {
			if o.kind == "V" {
				check := "NONE"
				if o.module.ast.CheckOption {
					check = "CASCADE"
				}
				add(v.db.name, o.schema.name, o.name, o.module.text, check, "NO")
			}
		}
	})
	defineView("information_schema.columns", "TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, COLUMN_NAME sysname, ORDINAL_POSITION int, COLUMN_DEFAULT str, IS_NULLABLE vc, DATA_TYPE sysname, CHARACTER_MAXIMUM_LENGTH int, CHARACTER_OCTET_LENGTH int, NUMERIC_PRECISION tinyint, NUMERIC_PRECISION_RADIX smallint, NUMERIC_SCALE int, DATETIME_PRECISION smallint, CHARACTER_SET_CATALOG sysname, CHARACTER_SET_SCHEMA sysname, CHARACTER_SET_NAME sysname, COLLATION_CATALOG sysname, COLLATION_SCHEMA sysname, COLLATION_NAME sysname, DOMAIN_CATALOG sysname, DOMAIN_SCHEMA sysname, DOMAIN_NAME sysname", func(v *viewer, add func(...any)) {
		for _, o := range v.objects() {
			var cols []*column
			if o.table != nil {
				cols = o.table.columns
			} else if o.kind == "V" {
				cols = v.p.moduleColumns(o)
			}
			for i, c := range cols {
				var def any
				if c.def != nil {
					def = c.def.src
				}
				row := []any{v.db.name, o.schema.name, o.name, c.name, i + 1, def, yesNo(c.nullable), typeName(c.typ.Kind)}
				add(append(row, isoType(c.typ)...)...)
			}
		}
	})
	defineView("information_schema.routines", "SPECIFIC_CATALOG sysname, SPECIFIC_SCHEMA sysname, SPECIFIC_NAME sysname, ROUTINE_CATALOG sysname, ROUTINE_SCHEMA sysname, ROUTINE_NAME sysname, ROUTINE_TYPE vc, DATA_TYPE sysname, ROUTINE_BODY vc, ROUTINE_DEFINITION text, CREATED datetime, LAST_ALTERED datetime", func(v *viewer, add func(...any)) {
		for _, o := range v.objects() {
			var typ any
			kind := "FUNCTION"
			switch o.kind {
			case "P":
				kind = "PROCEDURE"
			case "FN":
				typ = typeName(o.module.returns.Kind)
			case "IF", "TF":
				typ = "TABLE"
			default:
				continue
			}
			add(v.db.name, o.schema.name, o.name, v.db.name, o.schema.name, o.name, kind, typ, "SQL", o.module.text, o.created, o.modified)
		}
	})
	defineView("information_schema.parameters", "SPECIFIC_CATALOG sysname, SPECIFIC_SCHEMA sysname, SPECIFIC_NAME sysname, ORDINAL_POSITION int, PARAMETER_MODE vc, IS_RESULT vc, AS_LOCATOR vc, PARAMETER_NAME sysname, DATA_TYPE sysname, CHARACTER_MAXIMUM_LENGTH int", func(v *viewer, add func(...any)) {
		for _, o := range v.objects() {
			if o.module == nil {
				continue
			}
			for i, p := range o.module.params {
				mode := "IN"
				if p.output {
					mode = "INOUT"
				}
				var n any
				if p.typ.Kind.IsCharacter() || p.typ.Kind.IsBinary() {
					n = p.typ.Length
				}
				add(v.db.name, o.schema.name, o.name, i+1, mode, "NO", "NO", p.name, typeName(p.typ.Kind), n)
			}
		}
	})
	constraints := func(v *viewer, f func(o, c *object, kind string, cols []int)) {
		for _, o := range v.tables() {
			for _, ix := range o.table.indexes {
				if ix.constraint != nil {
					var cols []int
					for _, k := range ix.keys {
						cols = append(cols, k.column)
					}
					kind := "UNIQUE"
					if ix.primary {
						kind = "PRIMARY KEY"
					}
					f(o, ix.constraint, kind, cols)
				}
			}
			for _, fk := range o.table.foreign {
				f(o, fk.obj, "FOREIGN KEY", fk.cols)
			}
			for _, c := range o.table.checks {
				f(o, c.obj, "CHECK", nil)
			}
		}
	}
	defineView("information_schema.table_constraints", "CONSTRAINT_CATALOG sysname, CONSTRAINT_SCHEMA sysname, CONSTRAINT_NAME sysname, TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, CONSTRAINT_TYPE vc, IS_DEFERRABLE vc, INITIALLY_DEFERRED vc", func(v *viewer, add func(...any)) {
		constraints(v, func(o, c *object, kind string, cols []int) {
			add(v.db.name, o.schema.name, c.name, v.db.name, o.schema.name, o.name, kind, "NO", "NO")
		})
	})
	defineView("information_schema.key_column_usage", "CONSTRAINT_CATALOG sysname, CONSTRAINT_SCHEMA sysname, CONSTRAINT_NAME sysname, TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, COLUMN_NAME sysname, ORDINAL_POSITION int", func(v *viewer, add func(...any)) {
		constraints(v, func(o, c *object, kind string, cols []int) {
			for i, col := range cols {
				add(v.db.name, o.schema.name, c.name, v.db.name, o.schema.name, o.name, o.table.columns[col].name, i+1)
			}
		})
	})
	defineView("information_schema.check_constraints", "CONSTRAINT_CATALOG sysname, CONSTRAINT_SCHEMA sysname, CONSTRAINT_NAME sysname, CHECK_CLAUSE text", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, c := range o.table.checks {
				add(v.db.name, o.schema.name, c.obj.name, c.src)
			}
		}
	})
	defineView("information_schema.referential_constraints", "CONSTRAINT_CATALOG sysname, CONSTRAINT_SCHEMA sysname, CONSTRAINT_NAME sysname, UNIQUE_CONSTRAINT_CATALOG sysname, UNIQUE_CONSTRAINT_SCHEMA sysname, UNIQUE_CONSTRAINT_NAME sysname, MATCH_OPTION vc, UPDATE_RULE vc, DELETE_RULE vc", func(v *viewer, add func(...any)) {
		rule := func(s string) string {
			if s == "" {
				return "NO ACTION"
			}
			return s
		}
		for _, o := range v.tables() {
			for _, fk := range o.table.foreign {
				add(v.db.name, o.schema.name, fk.obj.name, v.db.name, fk.to.obj.schema.name, fk.refIndex.name, "SIMPLE", rule(fk.onUpdate), rule(fk.onDelete))
			}
		}
	})
}

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

// isoType is what INFORMATION_SCHEMA says about a type after its name.
func isoType(t value.Type) []any {
	row := make([]any, 15)
	switch k := t.Kind; {
	case k.IsCharacter():
		row[0], row[1] = t.Length, maxBytes(t)
		row[8], row[11] = "iso_1", t.Collation.Name()
		if k.IsUnicode() {
			row[8] = "UNICODE"
		}
	case k.IsBinary():
		row[0], row[1] = t.Length, t.Length
	case k.IsNumeric() && k != value.Bit:
		p, s := precisionScale(t)
		row[2], row[3], row[4] = p, 10, s
		if k.IsApproximate() {
			row[3], row[4] = 2, nil
		}
	case k == value.Time || k == value.DateTime2 || k == value.DateTimeOffset:
		row[5] = int(t.Scale)
	case k == value.DateTime:
		row[5] = 3
	case k == value.Date || k == value.SmallDateTime:
		row[5] = 0
	}
	return row
}
