package tracefs

import "strings"

// This file implements the kernel's vsnprintf for numbers and texts. It follows
// the kernel where it differs from C: "%#x" of 0 is 0x0, a NUL in a char array
// ends it, and letters after "%p" select the type of the data. Pointers are in
// pointer.go.

// A spec is one conversion of a format string.
type spec struct {
	left, plus, space, alt, zero bool

	width, prec         int  // -1 if not given
	starWidth, starPrec bool // the width or precision is an argument
	size                int  // bytes that the length modifier selects: 1, 2, 4, 8
	verb                byte // d u o x X c s p
	ext                 string
}

// A piece is literal text followed by a conversion; the last piece of a
// format may have no conversion (verb 0).
type piece struct {
	lit string
	spec
}

// parsePieces splits a format string. In the kernel, an unknown conversion ends
// the output; here it is printed as it is, so that the rest is printed too.
func parsePieces(format string) []piece {
	var pieces []piece
	var lit strings.Builder
	for i := 0; i < len(format); {
		if format[i] != '%' {
			lit.WriteByte(format[i])
			i++
			continue
		}
		s, n := parseSpec(format[i+1:])
		switch {
		case n == 0:
			lit.WriteByte('%')
			i++
			continue
		case s.verb == '%':
			lit.WriteByte('%')
		default:
			pieces = append(pieces, piece{lit.String(), s})
			lit.Reset()
		}
		i += 1 + n
	}
	if lit.Len() > 0 {
		pieces = append(pieces, piece{lit: lit.String()})
	}
	return pieces
}

// parseSpec parses the conversion after a percent sign and returns its length;
// 0 if it is invalid.
func parseSpec(f string) (s spec, n int) {
	i := 0
	at := func() byte {
		if i < len(f) {
			return f[i]
		}
		return 0
	}
flags:
	for ; ; i++ {
		switch at() {
		case '-':
			s.left = true
		case '+':
			s.plus = true
		case ' ':
			s.space = true
		case '#':
			s.alt = true
		case '0':
			s.zero = true
		default:
			break flags
		}
	}
	number := func() int {
		v := 0
		for ; at() >= '0' && at() <= '9'; i++ {
			v = min(v*10+int(at()-'0'), maxPad)
		}
		return v
	}
	s.width, s.prec, s.size = -1, -1, 4
	if at() == '*' {
		s.starWidth = true
		i++
	} else if at() >= '0' && at() <= '9' {
		s.width = number()
	}
	if at() == '.' {
		i++
		if at() == '*' {
			s.starPrec = true
			i++
		} else {
			s.prec = number()
		}
	}
	switch at() {
	case 'h':
		s.size = 2
		if i++; at() == 'h' {
			s.size = 1
			i++
		}
	case 'l':
		s.size = 8
		if i++; at() == 'l' {
			i++
		}
	case 'L', 'z', 'Z', 't', 'j', 'q':
		s.size = 8
		i++
	}
	s.verb = at()
	switch s.verb {
	case 'i':
		s.verb = 'd'
	case 'p':
		for i++; isAlnum(at()); i++ {
			s.ext += string(at())
		}
		return s, i
	case 'd', 'u', 'o', 'x', 'X', 'c', 's', '%':
	default:
		return s, 0
	}
	return s, i + 1
}

func isAlnum(c byte) bool { return c != '_' && isIdent(c) }

// maxPad bounds widths and precisions, which a damaged format or record could
// make huge. The kernel's bound for widths is 2^23; real events use far smaller
// ones.
const maxPad = 4096

// setWidth applies a width that came as an argument.
func (s *spec) setWidth(v int64) {
	if v < 0 {
		s.left = true
		v = -v
	}
	s.width = int(min(uint64(v), maxPad))
}

// setPrec applies a precision that came as an argument; negative is 0, as in
// the kernel and unlike C.
func (s *spec) setPrec(v int64) { s.prec = int(min(max(v, 0), maxPad)) }

// appendInt prints v by the conversion. v is the argument, extended to 64 bits
// by its own type.
func (s *spec) appendInt(dst []byte, v uint64) []byte {
	base := uint64(10)
	switch s.verb {
	case 'x', 'X':
		base = 16
	case 'o':
		base = 8
	}
	shift := uint(64 - 8*s.size)
	var sign byte
	if s.verb == 'd' {
		n := int64(v<<shift) >> shift
		v = uint64(n)
		switch {
		case n < 0:
			sign, v = '-', -v
		case s.plus:
			sign = '+'
		case s.space:
			sign = ' '
		}
	} else {
		v = v << shift >> shift
	}
	return s.appendNumber(dst, v, base, sign, s.verb == 'X')
}

// appendNumber prints digits with sign, prefix and padding. Order: spaces,
// sign, prefix, zeros, digits, spaces.
func (s *spec) appendNumber(dst []byte, v, base uint64, sign byte, upper bool) []byte {
	digits := "0123456789abcdef"
	if upper {
		digits = "0123456789ABCDEF"
	}
	var tmp [22]byte
	i := len(tmp)
	for rest := v; ; {
		i--
		tmp[i] = digits[rest%base]
		if rest /= base; rest == 0 {
			break
		}
	}
	n := len(tmp) - i
	prec := max(s.prec, n)
	pad := s.width - prec
	if sign != 0 {
		pad--
	}
	prefix := ""
	if s.alt && base == 16 {
		prefix = "0x"
		if upper {
			prefix = "0X"
		}
	} else if s.alt && base == 8 && v != 0 {
		prefix = "0"
	}
	pad -= len(prefix)
	if !s.left && !s.zero {
		dst = appendPad(dst, ' ', pad)
	}
	if sign != 0 {
		dst = append(dst, sign)
	}
	dst = append(dst, prefix...)
	if !s.left && s.zero {
		dst = appendPad(dst, '0', pad)
	}
	dst = appendPad(dst, '0', prec-n)
	dst = append(dst, tmp[i:]...)
	if s.left {
		dst = appendPad(dst, ' ', pad)
	}
	return dst
}

func appendPad(dst []byte, c byte, n int) []byte {
	for ; n > 0; n-- {
		dst = append(dst, c)
	}
	return dst
}

// appendText prints text up to a NUL and up to the precision.
func (s *spec) appendText(dst, text []byte) []byte {
	start := len(dst)
	for i, c := range text {
		if c == 0 || s.prec >= 0 && i >= s.prec {
			break
		}
		dst = append(dst, c)
	}
	return s.justify(dst, start)
}

// appendString is appendText for a Go string.
func (s *spec) appendString(dst []byte, text string) []byte {
	start := len(dst)
	for i := 0; i < len(text) && text[i] != 0 && (s.prec < 0 || i < s.prec); i++ {
		dst = append(dst, text[i])
	}
	return s.justify(dst, start)
}

// appendChar prints one character, also NUL.
func (s *spec) appendChar(dst []byte, c byte) []byte {
	start := len(dst)
	return s.justify(append(dst, c), start)
}

// justify pads the text from start on to the width.
func (s *spec) justify(dst []byte, start int) []byte {
	n := len(dst) - start
	pad := s.width - n
	if pad <= 0 {
		return dst
	}
	dst = appendPad(dst, ' ', pad)
	if !s.left {
		copy(dst[start+pad:], dst[start:start+n])
		for i := range pad {
			dst[start+i] = ' '
		}
	}
	return dst
}
