package engine

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// jsonKind numbers the kinds as the type column of OPENJSON does.
type jsonKind uint8

const (
	jsonNull   jsonKind = 0
	jsonString jsonKind = 1
	jsonNumber jsonKind = 2
	jsonBool   jsonKind = 3
	jsonArray  jsonKind = 4
	jsonObject jsonKind = 5
)

// jsonNode is a value in a JSON text.
type jsonNode struct {
	kind    jsonKind
	whole   bool   // was read to its end
	raw     string // the text as written
	text    string // a string without its quotes and escapes; true, false and numbers as written
	members []jsonMember
	items   []jsonNode
}

type jsonMember struct {
	key  string
	node jsonNode
}

// member finds a property; of several with one name, the first.
func (n *jsonNode) member(key string) *jsonNode {
	for i := range n.members {
		if n.members[i].key == key {
			return &n.members[i].node
		}
	}
	return nil
}

// parseJSON reads a JSON text; error 13609 tells where it is wrong.
func parseJSON(text string) (*jsonNode, error) {
	n, err := parseJSONStart(text)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// parseJSONStart is parseJSON, which has what comes before an error, too.
func parseJSONStart(text string) (*jsonNode, error) {
	p := jsonParser{src: text}
	p.space()
	var n jsonNode
	if err := p.value(&n, 0); err != nil {
		return &n, err
	}
	p.space()
	if p.pos < len(p.src) {
		return &n, p.unexpected()
	}
	return &n, nil
}

// maxJSONDepth is how deep SQL Server lets JSON nest.
const maxJSONDepth = 128

type jsonParser struct {
	src string
	pos int
}

// unexpected is error 13609 at the present position, counted in UTF-16 code units.
func (p *jsonParser) unexpected() error {
	if p.pos >= len(p.src) {
		return jsonError(".", value.UTF16Len(p.src))
	}
	_, size := utf8.DecodeRuneInString(p.src[p.pos:])
	return jsonError(p.src[p.pos:p.pos+size], value.UTF16Len(p.src[:p.pos]))
}

func jsonError(char string, pos int) error {
	return sqlError(13609, 16, 4, "JSON text is not properly formatted. Unexpected character '%s' is found at position %d.", char, pos)
}

func (p *jsonParser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

func (p *jsonParser) value(n *jsonNode, depth int) error {
	if p.pos >= len(p.src) {
		return p.unexpected()
	}
	if depth > maxJSONDepth {
		return sqlError(13604, 16, 1, "JSON text is nested too deeply. The maximum depth is %d.", maxJSONDepth)
	}
	start := p.pos
	var err error
	switch c := p.src[p.pos]; {
	case c == '{':
		n.kind = jsonObject
		err = p.object(n, depth)
	case c == '[':
		n.kind = jsonArray
		err = p.array(n, depth)
	case c == '"':
		n.kind = jsonString
		n.text, err = p.str()
	case c == '-' || c >= '0' && c <= '9':
		n.kind = jsonNumber
		err = p.number()
		n.text = p.src[start:p.pos]
	default:
		n.kind, err = p.word()
		n.text = p.src[start:p.pos]
	}
	n.raw = p.src[start:p.pos]
	n.whole = err == nil
	return err
}

func (p *jsonParser) word() (jsonKind, error) {
	for _, w := range [...]struct {
		text string
		kind jsonKind
	}{{"true", jsonBool}, {"false", jsonBool}, {"null", jsonNull}} {
		if p.src[p.pos] != w.text[0] {
			continue
		}
		for i := range len(w.text) {
			if p.pos >= len(p.src) || p.src[p.pos] != w.text[i] {
				return 0, p.unexpected()
			}
			p.pos++
		}
		return w.kind, nil
	}
	return 0, p.unexpected()
}

func (p *jsonParser) digits() error {
	if p.pos >= len(p.src) || p.src[p.pos] < '0' || p.src[p.pos] > '9' {
		return p.unexpected()
	}
	for p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
		p.pos++
	}
	return nil
}

func (p *jsonParser) number() error {
	if p.src[p.pos] == '-' {
		p.pos++
	}
	if p.pos < len(p.src) && p.src[p.pos] == '0' {
		p.pos++
		if p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
			return p.unexpected()
		}
	} else if err := p.digits(); err != nil {
		return err
	}
	if p.pos < len(p.src) && p.src[p.pos] == '.' {
		p.pos++
		if err := p.digits(); err != nil {
			return err
		}
	}
	if p.pos < len(p.src) && (p.src[p.pos] == 'e' || p.src[p.pos] == 'E') {
		p.pos++
		if p.pos < len(p.src) && (p.src[p.pos] == '+' || p.src[p.pos] == '-') {
			p.pos++
		}
		return p.digits()
	}
	return nil
}

func (p *jsonParser) str() (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '"':
			s := p.src[start:p.pos]
			p.pos++
			return s, nil
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			return "", p.unexpected()
		default:
			p.pos++
		}
	}
	return "", p.unexpected()
}

// escaped goes on with a string that has an escape sequence at the present position.
func (p *jsonParser) escaped(start int) (string, error) {
	out := p.src[start:p.pos]
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case c == '"':
			p.pos++
			return out, nil
		case c < 0x20:
			return "", p.unexpected()
		case c != '\\':
			from := p.pos
			for p.pos < len(p.src) && p.src[p.pos] != '"' && p.src[p.pos] != '\\' && p.src[p.pos] >= 0x20 {
				p.pos++
			}
			out = value.JoinSurrogates(out, p.src[from:p.pos])
			continue
		}
		p.pos++
		if p.pos >= len(p.src) {
			return "", p.unexpected()
		}
		switch c := p.src[p.pos]; c {
		case '"', '\\', '/':
			out += string(c)
		case 'b':
			out += "\b"
		case 'f':
			out += "\f"
		case 'n':
			out += "\n"
		case 'r':
			out += "\r"
		case 't':
			out += "\t"
		case 'u':
			unit := 0
			for i := 1; i <= 4; i++ {
				if p.pos+i >= len(p.src) {
					p.pos += i
					return "", p.unexpected()
				}
				d := strings.IndexByte("0123456789abcdef", p.src[p.pos+i]|0x20)
				if h := p.src[p.pos+i]; d < 0 || h < '0' {
					p.pos += i
					return "", p.unexpected()
				}
				unit = unit<<4 | d
			}
			p.pos += 4
			out = value.JoinSurrogates(out, value.DecodeUTF16([]byte{byte(unit), byte(unit >> 8)}))
		default:
			return "", p.unexpected()
		}
		p.pos++
	}
	return "", p.unexpected()
}

func (p *jsonParser) object(n *jsonNode, depth int) error {
	p.pos++
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == '}' {
		p.pos++
		return nil
	}
	for {
		p.space()
		if p.pos >= len(p.src) || p.src[p.pos] != '"' {
			return p.unexpected()
		}
		key, err := p.str()
		if err != nil {
			return err
		}
		p.space()
		if p.pos >= len(p.src) || p.src[p.pos] != ':' {
			return p.unexpected()
		}
		p.pos++
		p.space()
		n.members = append(n.members, jsonMember{key: key})
		if err := p.value(&n.members[len(n.members)-1].node, depth+1); err != nil {
			return err
		}
		if done, err := p.next('}'); done || err != nil {
			return err
		}
	}
}

func (p *jsonParser) array(n *jsonNode, depth int) error {
	p.pos++
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == ']' {
		p.pos++
		return nil
	}
	for {
		p.space()
		n.items = append(n.items, jsonNode{})
		if err := p.value(&n.items[len(n.items)-1], depth+1); err != nil {
			return err
		}
		if done, err := p.next(']'); done || err != nil {
			return err
		}
	}
}

// next takes a comma, or the end of an object or array.
func (p *jsonParser) next(end byte) (done bool, err error) {
	p.space()
	if p.pos >= len(p.src) {
		return false, p.unexpected()
	}
	switch p.src[p.pos] {
	case ',':
		p.pos++
		return false, nil
	case end:
		p.pos++
		return true, nil
	}
	return false, p.unexpected()
}

// --- paths ---

// jsonPath is a path such as strict $.a."b c"[3].
type jsonPath struct {
	strict bool
	append bool // JSON_MODIFY only
	steps  []jsonStep
}

type jsonStep struct {
	key   string
	index int
	array bool
}

// parseJSONPath reads a path; error 13607 tells where it is wrong.
func parseJSONPath(text string) (*jsonPath, error) {
	p := &jsonPath{}
	rest := strings.TrimLeft(text, " ")
	if r, ok := strings.CutPrefix(rest, "append "); ok {
		p.append = true
		rest = strings.TrimLeft(r, " ")
	}
	if r, ok := strings.CutPrefix(rest, "strict "); ok {
		p.strict = true
		rest = strings.TrimLeft(r, " ")
	} else if r, ok := strings.CutPrefix(rest, "lax "); ok {
		rest = strings.TrimLeft(r, " ")
	}
	pos := len(text) - len(rest)
	bad := func() error {
		char := "."
		if pos < len(text) {
			_, size := utf8.DecodeRuneInString(text[pos:])
			char = text[pos : pos+size]
		}
		return sqlError(13607, 16, 3, "JSON path is not properly formatted. Unexpected character '%s' is found at position %d.", char, value.UTF16Len(text[:min(pos, len(text))]))
	}
	if pos >= len(text) || text[pos] != '$' {
		return nil, bad()
	}
	pos++
	for pos < len(text) {
		switch text[pos] {
		case '.':
			pos++
			if pos < len(text) && text[pos] == '"' {
				q := jsonParser{src: text, pos: pos}
				key, err := q.str()
				if err != nil {
					pos = q.pos
					return nil, bad()
				}
				pos = q.pos
				p.steps = append(p.steps, jsonStep{key: key})
				break
			}
			start := pos
			for pos < len(text) && (text[pos] >= 0x80 || text[pos] == '_' || text[pos] == '$' && pos > start || isWordByte(text[pos])) {
				pos++
			}
			if pos == start {
				return nil, bad()
			}
			p.steps = append(p.steps, jsonStep{key: text[start:pos]})
		case '[':
			pos++
			start := pos
			for pos < len(text) && text[pos] >= '0' && text[pos] <= '9' {
				pos++
			}
			n, err := strconv.Atoi(text[start:pos])
			if err != nil || pos >= len(text) || text[pos] != ']' {
				return nil, bad()
			}
			pos++
			p.steps = append(p.steps, jsonStep{index: n, array: true})
		case ' ':
			if strings.TrimRight(text[pos:], " ") == "" {
				return p, nil
			}
			return nil, bad()
		default:
			return nil, bad()
		}
	}
	return p, nil
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// find follows the path; nil when it leads nowhere.
func (p *jsonPath) find(n *jsonNode) *jsonNode {
	for _, s := range p.steps {
		if n = n.step(s); n == nil {
			return nil
		}
	}
	return n
}

func (n *jsonNode) step(s jsonStep) *jsonNode {
	if s.array {
		if n.kind != jsonArray || s.index >= len(n.items) {
			return nil
		}
		return &n.items[s.index]
	}
	if n.kind != jsonObject {
		return nil
	}
	return n.member(s.key)
}

func errJSONMissing() error {
	return sqlError(13608, 16, 2, "Property cannot be found on the specified JSON path.")
}

// --- writing ---

// appendJSONString appends s as a JSON string, escaped as STRING_ESCAPE and FOR JSON do.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = appendJSONEscaped(dst, s)
	return append(dst, '"')
}

func appendJSONEscaped(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\', '/':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			if c < 0x20 {
				dst = fmt.Appendf(dst, `\u%04x`, c)
			} else {
				dst = append(dst, c)
			}
		}
	}
	return dst
}

// appendJSONValue appends a SQL value as FOR JSON, JSON_OBJECT and JSON_MODIFY write it.
func appendJSONValue(dst []byte, v value.Value, typ value.Type, isJSON bool) ([]byte, error) {
	if v.IsNull() {
		return append(dst, "null"...), nil
	}
	switch k := v.Kind(); {
	case k.IsCharacter():
		if isJSON {
			return append(dst, v.Str()...), nil
		}
		return appendJSONString(dst, v.Str()), nil
	case k == value.Bit:
		return strconv.AppendBool(dst, v.Bool()), nil
	case k.IsInteger():
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case k.IsApproximate():
		return append(dst, scientific(v.Float(), k)...), nil
	case k.IsBinary():
		dst = append(dst, '"')
		dst = append(dst, base64Text(v.Bytes())...)
		return append(dst, '"'), nil
	}
	style := value.NoStyle
	switch {
	case v.Kind().IsTemporal():
		style = 126
	case v.Kind().IsMoney():
		style = 2 // all four decimals
	}
	text, err := value.Convert(v, typ, value.Type{Kind: value.VarChar, Length: 100}, style, value.ConvertEnv{})
	if err != nil {
		return dst, err
	}
	s := text.Str()
	if v.Kind().IsNumeric() {
		return append(dst, s...), nil
	}
	if v.Kind().IsTemporal() {
		s = jsonTime(v, s)
	}
	return appendJSONString(dst, s), nil
}

// jsonTime drops a fraction that is zero.
func jsonTime(v value.Value, s string) string {
	dot := strings.IndexByte(s, '.')
	if dot < 0 {
		return s
	}
	end := dot + 1
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	frac := strings.TrimRight(s[dot+1:end], "0")
	if frac == "" {
		return s[:dot] + s[end:]
	}
	return s[:dot+1] + frac + s[end:]
}

// scientific is a float as FOR JSON writes it: 1.500000000000000e+000.
func scientific(f float64, k value.Kind) string {
	digits := 15
	if k == value.Real {
		digits = 7
	}
	s := strconv.FormatFloat(f, 'e', digits, 64)
	at := strings.IndexByte(s, 'e') + 2
	return s[:at] + strings.Repeat("0", max(0, 3-len(s[at:]))) + s[at:]
}
