package host

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
)

// This file formats one value by a format spec:
//
//	[[fill]align][sign][#][0][width][,|_][.precision][type]
//
// The type is one of Python's, or a unit for durations and sizes.

type spec struct {
	fill  rune
	align byte // < > ^ = or 0
	sign  byte // + - space or 0
	alt   bool // #
	width int
	group byte // , _ or 0
	prec  int  // -1 if absent
	typ   string
}

// maxWidth bounds width and precision, so that a mistake does not fill the
// memory.
const maxWidth = 10_000

func parseSpec(s string) (spec, error) {
	sp := spec{fill: ' ', prec: -1}
	whole := s
	const aligns = "<>^="
	if r, n := utf8.DecodeRuneInString(s); n > 0 && n < len(s) && strings.IndexByte(aligns, s[n]) >= 0 {
		sp.fill, sp.align = r, s[n]
		s = s[n+1:]
	} else if s != "" && strings.IndexByte(aligns, s[0]) >= 0 {
		sp.align = s[0]
		s = s[1:]
	}
	take := func(set string) byte {
		if s == "" || strings.IndexByte(set, s[0]) < 0 {
			return 0
		}
		ch := s[0]
		s = s[1:]
		return ch
	}
	sp.sign = take("+- ")
	sp.alt = take("#") != 0
	if take("0") != 0 && sp.align == 0 {
		sp.fill, sp.align = '0', '='
	}
	number := func() (int, error) {
		i := 0
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		n, err := strconv.Atoi(s[:i])
		if err != nil || n > maxWidth {
			return 0, fmt.Errorf("format %q: got %q, want a number up to %d", whole, s[:i], maxWidth)
		}
		s = s[i:]
		return n, nil
	}
	var err error
	if s != "" && s[0] >= '0' && s[0] <= '9' {
		if sp.width, err = number(); err != nil {
			return sp, err
		}
	}
	sp.group = take(",_")
	if take(".") != 0 {
		if sp.prec, err = number(); err != nil {
			return sp, err
		}
	}
	sp.typ = s
	switch sp.typ {
	case "", "s", "d", "b", "o", "x", "X", "c", "e", "E", "f", "F", "g", "G", "n", "%":
		return sp, nil
	}
	if _, ok := unit.ByName(sp.typ); ok {
		return sp, nil
	}
	return sp, fmt.Errorf("format %q: unknown type %q; want s, d, x, f, e, g, %%, or a unit such as us",
		whole, sp.typ)
}

// print formats v by the spec.
func (sp spec) print(v starlark.Value) (string, error) {
	switch v := v.(type) {
	case value.Duration:
		return sp.quantity(float64(v), "ns", v)
	case value.Size:
		return sp.quantity(float64(v), "B", v)
	case starlark.Bool:
		if sp.typ == "" || sp.typ == "s" {
			return sp.text(v.String())
		}
		n := 0
		if v {
			n = 1
		}
		return sp.int(starlark.MakeInt(n))
	case starlark.Int:
		return sp.int(v)
	case starlark.Float:
		return sp.float(float64(v))
	}
	if sp.typ != "" && sp.typ != "s" {
		return "", fmt.Errorf("type %s does not suit %s", sp.typ, v.Type())
	}
	return sp.text(plain(v))
}

func (sp spec) text(s string) (string, error) {
	if sp.align == '=' || sp.sign != 0 || sp.alt || sp.group != 0 {
		return "", fmt.Errorf("sign, =, 0, # and grouping are for numbers")
	}
	if sp.prec >= 0 {
		if r := []rune(s); len(r) > sp.prec {
			s = string(r[:sp.prec])
		}
	}
	return sp.pad("", s, '<'), nil
}

// quantity formats a duration or size: with its unit as suffix, or as a number
// in the unit of the type.
func (sp spec) quantity(base float64, measure string, v starlark.Value) (string, error) {
	if sp.typ == "" || sp.typ == "s" {
		if sp.prec >= 0 {
			return "", quantityError(v)
		}
		return sp.pad("", v.String(), '>'), nil
	}
	u, ok := unit.ByName(sp.typ)
	if !ok || u.Base != measure {
		return "", quantityError(v)
	}
	prec := sp.prec
	if prec < 0 {
		prec = u.Prec
	}
	sp.typ, sp.prec = "f", prec
	return sp.float(base / u.Scale)
}

func quantityError(v starlark.Value) error {
	want := "{:.3us}"
	if v.Type() == "size" {
		want = "{:.1MiB}"
	}
	return (&diag.Error{Cause: fmt.Errorf("a %s needs a unit as its type", v.Type())}).
		WithHint("write for example %s, or {} for the short form", want)
}

func (sp spec) int(v starlark.Int) (string, error) {
	big := v.BigInt()
	base, prefix := 10, ""
	switch sp.typ {
	case "", "d", "n":
	case "s":
		return "", fmt.Errorf("type s does not suit int")
	case "b":
		base, prefix = 2, "0b"
	case "o":
		base, prefix = 8, "0o"
	case "x", "X":
		base, prefix = 16, "0"+sp.typ
	case "c":
		n, ok := v.Int64()
		if !ok || n < 0 || n > utf8.MaxRune {
			return "", fmt.Errorf("%s is not a character", v)
		}
		sp.typ = ""
		return sp.text(string(rune(n)))
	case "e", "E", "f", "F", "g", "G", "%":
		return sp.float(float64(v.Float()))
	default:
		return "", fmt.Errorf("unit %s does not suit int", sp.typ)
	}
	if sp.prec >= 0 {
		return "", fmt.Errorf("an int has no precision")
	}
	sign := sp.signOf(big.Sign() < 0)
	digits := big.Abs(big).Text(base)
	if sp.typ == "X" {
		digits = strings.ToUpper(digits)
	}
	if sp.alt {
		sign += prefix
	}
	every := 3
	if base != 10 {
		every = 4
	}
	return sp.pad(sign, sp.grouped(digits, every), '>'), nil
}

func (sp spec) float(f float64) (string, error) {
	neg := math.Signbit(f) && !math.IsNaN(f)
	abs := math.Abs(f)
	prec, verb, tail := sp.prec, byte('f'), ""
	if prec < 0 {
		prec = 6
	}
	switch sp.typ {
	case "":
		if sp.prec < 0 {
			text := starlark.Float(abs).String()
			text = strings.TrimPrefix(text, "+")
			return sp.number(neg, text), nil
		}
		verb = 'g'
	case "f", "F":
	case "e", "E":
		verb = sp.typ[0]
	case "g", "G", "n":
		verb = 'g'
		if sp.typ == "G" {
			verb = 'G'
		}
		if prec == 0 {
			prec = 1
		}
	case "%":
		abs *= 100
		tail = "%"
	default:
		return "", fmt.Errorf("type %s does not suit float", sp.typ)
	}
	switch {
	case math.IsInf(abs, 0):
		return sp.number(neg, "inf"+tail), nil
	case math.IsNaN(abs):
		return sp.number(false, "nan"+tail), nil
	}
	return sp.number(neg, strconv.FormatFloat(abs, verb, prec, 64)+tail), nil
}

// number adds the sign, grouping and padding to the digits of a float.
func (sp spec) number(neg bool, text string) string {
	i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if i < 0 {
		i = len(text)
	}
	return sp.pad(sp.signOf(neg), sp.grouped(text[:i], 3)+text[i:], '>')
}

func (sp spec) signOf(neg bool) string {
	switch {
	case neg:
		return "-"
	case sp.sign == '+':
		return "+"
	case sp.sign == ' ':
		return " "
	}
	return ""
}

func (sp spec) grouped(digits string, every int) string {
	if sp.group == 0 {
		return digits
	}
	var out strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%every == 0 {
			out.WriteByte(sp.group)
		}
		out.WriteByte(digits[i])
	}
	return out.String()
}

// pad fills text to the width. With alignment =, the fill is between sign and
// digits.
func (sp spec) pad(sign, text string, align byte) string {
	if sp.align != 0 {
		align = sp.align
	}
	n := sp.width - utf8.RuneCountInString(sign) - utf8.RuneCountInString(text)
	if n <= 0 {
		return sign + text
	}
	fill := func(n int) string { return strings.Repeat(string(sp.fill), n) }
	switch align {
	case '<':
		return sign + text + fill(n)
	case '^':
		return fill(n/2) + sign + text + fill(n-n/2)
	case '=':
		return sign + fill(n) + text
	}
	return fill(n) + sign + text
}
