package value

import "strings"

// Collation says how character data compares and in which code page varchar keeps
// it. The zero Collation is DefaultCollation. The high byte is the family, the low
// byte holds the flags below.
type Collation uint16

// DefaultCollation is SQL_Latin1_General_CP1_CI_AS, what SQL Server is installed with in the United States.
const DefaultCollation Collation = 0

const (
	flagCS Collation = 1 << iota
	flagAI
	flagKS
	flagWS
	flagSC
	flagUTF8
	flagBin
	flagBin2
)

// collationFamily is what precedes the flags in a collation's name.
type collationFamily struct {
	name    string
	version uint8 // as in the TDS collation: 0 for SQL_ and unversioned names, 2 for _100, 3 for _140
	sql     bool  // a SQL Server collation rather than a Windows one
}

var families = [...]collationFamily{
	{name: "SQL_Latin1_General_CP1", sql: true},
	{name: "Latin1_General"},
	{name: "Latin1_General_100", version: 2},
}

// CollationByName finds a collation; names are case-insensitive.
func CollationByName(name string) (Collation, bool) {
	upper := strings.ToUpper(name)
	best, rest := -1, ""
	for i, f := range families {
		if r, ok := strings.CutPrefix(upper, strings.ToUpper(f.name)+"_"); ok && (best < 0 || len(f.name) > len(families[best].name)) {
			best, rest = i, r
		}
	}
	if best < 0 {
		return 0, false
	}
	f := families[best]
	c := Collation(best) << 8
	// The flags come in one fixed order: case, accent, kana, width, SC, UTF8.
	rest, utf8 := strings.CutSuffix(rest, "_UTF8")
	rest, sc := strings.CutSuffix(rest, "_SC")
	switch rest {
	case "BIN", "BIN2":
		c |= flagBin
		if rest == "BIN2" {
			c = c&^flagBin | flagBin2
		}
		// The only binary collations in UTF-8 are the _BIN2 ones of version 100.
		if sc || f.sql && rest == "BIN" || utf8 && (rest == "BIN" || f.version < 2) {
			return 0, false
		}
		if f.sql { // SQL_Latin1_General_CP1_BIN2 does not exist: SQL_Latin1_General_CP437_BIN2 does
			return 0, false
		}
		if utf8 {
			c |= flagUTF8
		}
		return c, true
	}
	parts := strings.Split(rest, "_")
	if len(parts) < 2 {
		return 0, false
	}
	switch parts[0] {
	case "CI":
	case "CS":
		c |= flagCS
	default:
		return 0, false
	}
	switch parts[1] {
	case "AS":
	case "AI":
		c |= flagAI
	default:
		return 0, false
	}
	parts = parts[2:]
	if len(parts) > 0 && parts[0] == "KS" {
		c |= flagKS
		parts = parts[1:]
	}
	if len(parts) > 0 && parts[0] == "WS" {
		c |= flagWS
		parts = parts[1:]
	}
	if len(parts) > 0 || f.sql && (c&(flagKS|flagWS) != 0 || c&0xFF == flagCS|flagAI) {
		return 0, false
	}
	if sc || utf8 {
		if f.version < 2 || utf8 && !sc { // UTF8 collations are all _SC
			return 0, false
		}
		c |= flagSC
		if utf8 {
			c |= flagUTF8
		}
	}
	return c, true
}

// LookupCollation is CollationByName with an error: 448 when SQL Server has no such
// collation, another when it has one and sqlsim has not.
func LookupCollation(name string) (Collation, error) {
	if c, ok := CollationByName(name); ok {
		return c, nil
	}
	parts := strings.Split(strings.ToUpper(name), "_")
	if _, known := otherFamilies[strings.TrimSuffix(parts[0], "90")]; known && len(parts) > 1 {
		return 0, Unsupported("the collation %s", name)
	}
	if parts[0] == "SQL" && len(parts) > 2 && parts[1] != "LATIN1" || strings.HasPrefix(strings.ToUpper(name), "SQL_LATIN1_GENERAL_CP") && !strings.HasPrefix(strings.ToUpper(name), "SQL_LATIN1_GENERAL_CP1_") {
		return 0, Unsupported("the collation %s", name)
	}
	return 0, NewError(448, 16, 1, "Invalid collation '%s'.", name)
}

// otherFamilies are the first words of the Windows collations whose rules or code page sqlsim does not know.
var otherFamilies = map[string]struct{}{}

func init() {
	for _, name := range strings.Fields(`ALBANIAN ARABIC ASSAMESE AZERI BASHKIR BENGALI BOSNIAN BRETON CHINESE CORSICAN CROATIAN CYRILLIC CZECH
		DANISH DARI DIVEHI ESTONIAN FINNISH FRENCH FRISIAN GEORGIAN GERMAN GREEK HEBREW HUNGARIAN ICELANDIC INDIC JAPANESE KAZAKH KHMER
		KOREAN LAO LATVIAN LITHUANIAN MACEDONIAN MALTESE MAORI MAPUDUNGAN MODERN MOHAWK NEPALI NORWEGIAN PASHTO PERSIAN POLISH ROMANIAN
		ROMANSH SAMI SERBIAN SLOVAK SLOVENIAN SYRIAC TAMAZIGHT TATAR THAI TIBETAN TRADITIONAL TURKISH TURKMEN UIGHUR UKRAINIAN UPPER URDU
		UZBEK VIETNAMESE WELSH YAKUT`) {
		otherFamilies[name] = struct{}{}
	}
}

func (c Collation) family() collationFamily {
	if i := int(c >> 8); i < len(families) {
		return families[i]
	}
	return families[0]
}

// Name is the collation's full name.
func (c Collation) Name() string {
	var b strings.Builder
	b.WriteString(c.family().name)
	switch {
	case c&flagBin != 0:
		b.WriteString("_BIN")
	case c&flagBin2 != 0:
		b.WriteString("_BIN2")
	default:
		b.WriteString(pick(c&flagCS != 0, "_CS", "_CI"))
		b.WriteString(pick(c&flagAI != 0, "_AI", "_AS"))
		b.WriteString(pick(c&flagKS != 0, "_KS", ""))
		b.WriteString(pick(c&flagWS != 0, "_WS", ""))
		b.WriteString(pick(c&flagSC != 0, "_SC", ""))
	}
	b.WriteString(pick(c&flagUTF8 != 0, "_UTF8", ""))
	return b.String()
}

func pick(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

// String is Name.
func (c Collation) String() string { return c.Name() }

// Binary reports _BIN and _BIN2.
func (c Collation) Binary() bool { return c&(flagBin|flagBin2) != 0 }

// CaseInsensitive reports _CI.
func (c Collation) CaseInsensitive() bool { return !c.Binary() && c&flagCS == 0 }

// AccentInsensitive reports _AI.
func (c Collation) AccentInsensitive() bool { return !c.Binary() && c&flagAI != 0 }

// KanaInsensitive reports a collation without _KS.
func (c Collation) KanaInsensitive() bool { return !c.Binary() && c&flagKS == 0 }

// WidthInsensitive reports a collation without _WS.
func (c Collation) WidthInsensitive() bool { return !c.Binary() && c&flagWS == 0 }

// SupplementaryCharacters reports _SC: functions count characters, not UTF-16 code units.
func (c Collation) SupplementaryCharacters() bool { return c&flagSC != 0 }

// UTF8 reports a collation that keeps varchar in UTF-8.
func (c Collation) UTF8() bool { return c&flagUTF8 != 0 }

// LCID, Version, SortID and CompareFlags are the parts of the collation as TDS and
// COLLATIONPROPERTY show it.
func (c Collation) LCID() int { return 0x0409 }

// Version is 0, 1, 2 or 3 for collations without version, _90, _100 and _140.
func (c Collation) Version() int { return int(c.family().version) }

// SortID is the sort order of a SQL_ collation, 0 for a Windows one.
func (c Collation) SortID() byte {
	if !c.family().sql {
		return 0
	}
	switch c & (flagCS | flagAI) {
	case flagCS:
		return 51
	case flagAI:
		return 54
	}
	return 52
}

// CodePage is 1252, or 65001 for UTF-8.
func (c Collation) CodePage() int {
	if c.UTF8() {
		return 65001
	}
	return 1252
}
