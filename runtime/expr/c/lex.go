package c

import (
	"math"
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tEOF tokenKind = iota
	tIdent
	tNumber
	tChar
	tString
	tOp
)

type token struct {
	kind     tokenKind
	pos, end int
	text     string // the characters of a tIdent and tOp; the value of a tString
	num      uint64
	typ      *Type
}

// ops are the operators, the longest first.
var ops = []string{
	"<<=", ">>=", "...",
	"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "->",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
	"+", "-", "*", "/", "%", "<", ">", "=", "!", "~", "&", "|", "^",
	"?", ":", ",", ";", ".", "(", ")", "[", "]", "{", "}",
}

// lex splits the source into p.toks, which ends with a tEOF.
func (p *parser) lex() error {
	s := p.src
	for i := 0; ; {
		for i < len(s) {
			if ch := s[i]; ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r' {
				i++
			} else if ch == '#' || strings.HasPrefix(s[i:], "//") {
				n := strings.IndexByte(s[i:], '\n')
				if n < 0 {
					n = len(s) - i
				}
				i += n
			} else if strings.HasPrefix(s[i:], "/*") {
				n := strings.Index(s[i+2:], "*/")
				if n < 0 {
					return p.errorf(i, "comment is not closed")
				}
				i += n + 4
			} else {
				break
			}
		}
		if i >= len(s) {
			p.toks = append(p.toks, token{kind: tEOF, pos: len(s), end: len(s)})
			return nil
		}
		t := token{pos: i}
		var err error
		switch ch := s[i]; {
		case isAlpha(ch):
			for i < len(s) && (isAlpha(s[i]) || isDigit(s[i])) {
				i++
			}
			t.kind, t.text = tIdent, s[t.pos:i]
		case isDigit(ch), ch == '.' && i+1 < len(s) && isDigit(s[i+1]):
			i, err = p.number(&t)
		case ch == '\'' && p.filter:
			n := strings.IndexByte(s[i+1:], '\'')
			if n < 0 {
				return p.errorf(i, "string is not closed")
			}
			t.kind, t.text = tString, s[i+1:i+1+n]
			i += n + 2
		case ch == '\'':
			i, err = p.char(&t)
		case ch == '"':
			i, err = p.string(&t)
		default:
			t.kind = tOp
			for _, op := range ops {
				if strings.HasPrefix(s[i:], op) {
					t.text = op
					break
				}
			}
			if t.text == "" {
				r, _ := utf8.DecodeRuneInString(s[i:])
				return p.errorf(i, "unexpected character %q", r)
			}
			i += len(t.text)
		}
		if err != nil {
			return err
		}
		t.end = i
		p.toks = append(p.toks, t)
	}
}

func isAlpha(c byte) bool { return c == '_' || c|32 >= 'a' && c|32 <= 'z' || c == '$' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number reads an integer literal at t.pos.
func (p *parser) number(t *token) (int, error) {
	s, i := p.src, t.pos
	end := i
	for end < len(s) && (isAlpha(s[end]) || isDigit(s[end]) || s[end] == '.') {
		end++
	}
	text := s[i:end]
	base, digits := uint64(10), text
	switch {
	case len(text) > 1 && (text[1] == 'x' || text[1] == 'X') && text[0] == '0':
		base, digits = 16, text[2:]
	case len(text) > 1 && (text[1] == 'b' || text[1] == 'B') && text[0] == '0':
		base, digits = 2, text[2:]
	case text[0] == '0':
		base = 8
	}
	if strings.IndexByte(text, '.') >= 0 || base == 10 && strings.ContainsAny(text, "eE") {
		return 0, p.errorf(i, "floating-point number %s: only integers can be used", text)
	}
	n := 0
	over := false
	for ; n < len(digits); n++ {
		d := uint64(digit(digits[n]))
		if d >= base {
			if base == 8 && d < 10 {
				return 0, p.errorf(i, "bad number %s: digit %c in an octal number", text, digits[n])
			}
			break
		}
		if t.num > (math.MaxUint64-d)/base {
			over = true
		}
		t.num = t.num*base + d
	}
	if n == 0 {
		return 0, p.errorf(i, "bad number %s: no digits", text)
	}
	if over {
		return 0, p.errorf(i, "number %s does not fit 64 bits", text)
	}
	suffix := strings.ToLower(digits[n:])
	unsigned, long := false, false
	switch suffix {
	case "":
	case "u":
		unsigned = true
	case "l", "ll":
		long = true
	case "ul", "ull", "lu", "llu":
		unsigned, long = true, true
	default:
		return 0, p.errorf(i, "bad number %s: unknown suffix %q", text, digits[n:])
	}
	if suffix == "ll" && digits[n] != digits[n+1] {
		return 0, p.errorf(i, "bad number %s: unknown suffix %q", text, digits[n:])
	}
	// The first type of C's list that holds the value. Decimal numbers
	// become unsigned only if they say so.
	hexLike := base != 10
	switch {
	case !long && !unsigned && t.num <= math.MaxInt32:
		t.typ = TInt
	case !long && (unsigned || hexLike) && t.num <= math.MaxUint32:
		t.typ = TUInt
	case !unsigned && t.num <= math.MaxInt64:
		t.typ = TLong
	case unsigned || hexLike:
		t.typ = TULong
	default:
		return 0, p.errorf(i, "number %s does not fit a signed 64-bit integer; add the suffix u", text)
	}
	t.kind = tNumber
	return end, nil
}

func digit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c|32 >= 'a' && c|32 <= 'f':
		return int(c|32-'a') + 10
	}
	return 99
}

// char reads a character literal; its type is int, its value a signed char's.
func (p *parser) char(t *token) (int, error) {
	s, i := p.src, t.pos+1
	if i >= len(s) || s[i] == '\n' {
		return 0, p.errorf(t.pos, "character is not closed")
	}
	if s[i] == '\'' {
		return 0, p.errorf(t.pos, "character is empty")
	}
	var b byte
	if s[i] == '\\' {
		var err error
		if b, i, err = p.escape(i); err != nil {
			return 0, err
		}
	} else {
		b = s[i]
		i++
	}
	if i >= len(s) || s[i] != '\'' {
		if strings.IndexByte(s[i:], '\'') >= 0 {
			return 0, p.errorf(t.pos, "a character literal is one byte; texts are written in double quotes")
		}
		return 0, p.errorf(t.pos, "character is not closed")
	}
	t.kind, t.num, t.typ = tChar, uint64(int64(int8(b))), TInt
	return i + 1, nil
}

func (p *parser) string(t *token) (int, error) {
	s := p.src
	var b strings.Builder
	for i := t.pos + 1; i < len(s); {
		switch s[i] {
		case '"':
			t.kind, t.text = tString, b.String()
			return i + 1, nil
		case '\n':
			// The kernel prints some formats with the escapes already resolved.
			if !p.kernel {
				return 0, p.errorf(t.pos, "string is not closed")
			}
			b.WriteByte('\n')
			i++
		case '\\':
			ch, next, err := p.escape(i)
			if err != nil {
				return 0, err
			}
			b.WriteByte(ch)
			i = next
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return 0, p.errorf(t.pos, "string is not closed")
}

// escape reads the escape sequence whose backslash is at i.
func (p *parser) escape(i int) (byte, int, error) {
	s := p.src
	if i+1 >= len(s) {
		return 0, 0, p.errorf(i, "nothing after the backslash")
	}
	const from, to = `abfnrtve\'"?`, "\a\b\f\n\r\t\v\x1b\\'\"?"
	if k := strings.IndexByte(from, s[i+1]); k >= 0 {
		return to[k], i + 2, nil
	}
	j, base, most := i+1, 8, 3
	if s[j] == 'x' {
		j, base, most = j+1, 16, 2
	}
	v, n := 0, 0
	for ; j < len(s) && n < most && digit(s[j]) < base; j++ {
		v = v*base + digit(s[j])
		n++
	}
	if n == 0 || v > 255 {
		r, _ := utf8.DecodeRuneInString(s[i+1:])
		return 0, 0, p.errorf(i, "unknown escape \\%c", r)
	}
	return byte(v), j, nil
}
