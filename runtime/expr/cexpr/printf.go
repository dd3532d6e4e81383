package cexpr

import (
	"io"
	"strconv"
	"strings"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/text/plain"
)

// This file has the functions printf and system. The format is checked when the
// expression is compiled, so that a wrong argument is an error with its column,
// and never prints a wrong value.

// spec is one conversion of a format, with the text before it.
type spec struct {
	text  string // text before the conversion
	verb  byte   // the letter of the conversion; 0 at the end of the format, % if there is only text
	minus bool
	zero  bool
	plus  bool
	space bool
	alt   bool
	width int
	prec  int // -1 if not given
	bits  int // size of the argument: 8, 16, 32, 64
}

// parseFormat splits a format. A conversion without a final letter is printed
// itself, as in C; an unknown letter is an error.
func parseFormat(format string) (specs []spec, err string) {
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			return append(specs, spec{text: format}), ""
		}
		if strings.HasPrefix(format[i:], "%%") {
			specs = append(specs, spec{text: format[:i+1], verb: '%'})
			format = format[i+2:]
			continue
		}
		s := spec{text: format[:i], prec: -1, bits: 32}
		rest := format[i+1:]
		for ; rest != ""; rest = rest[1:] {
			switch rest[0] {
			case '-':
				s.minus = true
				continue
			case '0':
				s.zero = true
				continue
			case '+':
				s.plus = true
				continue
			case ' ':
				s.space = true
				continue
			case '#':
				s.alt = true
				continue
			}
			break
		}
		s.width, rest = digits(rest)
		if strings.HasPrefix(rest, ".") {
			s.prec, rest = digits(rest[1:])
		}
		switch {
		case strings.HasPrefix(rest, "hh"):
			s.bits, rest = 8, rest[2:]
		case strings.HasPrefix(rest, "ll"):
			s.bits, rest = 64, rest[2:]
		case rest != "" && rest[0] == 'h':
			s.bits, rest = 16, rest[1:]
		case rest != "" && strings.IndexByte("lzjtqL", rest[0]) >= 0:
			s.bits, rest = 64, rest[1:]
		}
		if rest == "" {
			return nil, "the format ends inside a conversion"
		}
		s.verb = rest[0]
		if s.verb == '%' || !letter(s.verb) {
			text := format[:len(format)-len(rest)+1] // as C has it: "load %10=%d"
			if s.verb == '%' {
				text = format[:i+1]
			}
			specs = append(specs, spec{text: text, verb: '%'})
			format = rest[1:]
			continue
		}
		if strings.IndexByte("diouxXcsp", s.verb) < 0 {
			return nil, "unknown conversion %" + rest[:1]
		}
		if s.verb == 'p' {
			s.bits = 64
		}
		if s.width > 4096 || s.prec > 4096 {
			return nil, "width is larger than 4096"
		}
		specs = append(specs, s)
		format = rest[1:]
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func digits(s string) (int, string) {
	n := 0
	for s != "" && s[0] >= '0' && s[0] <= '9' {
		n = min(n*10+int(s[0]-'0'), 1<<20)
		s = s[1:]
	}
	return n, s
}

// formatArgs checks a call's format and lowers its arguments.
func formatArgs(k *Call) ([]spec, []expr.Node, error) {
	format, err := k.ConstStr(0)
	if err != nil {
		return nil, nil, err
	}
	specs, bad := parseFormat(format)
	if bad != "" {
		return nil, nil, k.Errorf(0, "%s", bad)
	}
	var args []expr.Node
	next := 1
	for _, s := range specs {
		if s.verb == 0 || s.verb == '%' {
			continue
		}
		if next >= len(k.Args) {
			return nil, nil, k.Errorf(0, "no argument for conversion %d, %%%c", next, s.verb)
		}
		v, err := k.l.expr(k.Args[next])
		if err != nil {
			return nil, nil, err
		}
		var n expr.Node
		switch {
		case s.verb == 's':
			n, err = k.l.str(k.Args[next], v)
		case v.text != nil && v.n == nil:
			err = k.Errorf(next, "%%%c prints a number, but this is a text; use %%s", s.verb)
		default:
			n, err = k.l.num(k.Args[next], v)
		}
		if err != nil {
			return nil, nil, err
		}
		args = append(args, n)
		next++
	}
	if next < len(k.Args) {
		return nil, nil, k.Errorf(next, "the format has no conversion for this argument")
	}
	return specs, args, nil
}

func lowerPrintf(k *Call) (expr.Node, error) {
	specs, args, err := formatArgs(k)
	if err != nil {
		return nil, err
	}
	k.As(c.TInt)
	return expr.NewNative(expr.Native{Name: "printf", T: expr.TInt, Args: args,
		Data: k.Args[0].(*c.String).Value, Effect: true, HostOnly: "it acts outside of the kernel",
		Int: func(f *expr.Frame, args []expr.Arg) int64 {
			b := appendFormat(f.Scratch(), specs, args)
			n := int64(len(b))
			if f.Out != nil {
				if _, err := f.Out.Write(b); err != nil && err != io.ErrClosedPipe {
					f.Fail(err)
				}
			}
			f.Keep(b[:0])
			return n
		}})
}

func lowerSystem(k *Call) (expr.Node, error) {
	fn := k.l.sc.Services.System
	if fn == nil {
		return nil, k.Errorf(-1, "running commands is not allowed here")
	}
	specs, args, err := formatArgs(k)
	if err != nil {
		return nil, err
	}
	k.As(c.TInt)
	return expr.NewNative(expr.Native{Name: "system", T: expr.TInt, Args: args,
		Data: k.Args[0].(*c.String).Value, Effect: true, HostOnly: "it acts outside of the kernel",
		Int: func(f *expr.Frame, args []expr.Arg) int64 {
			return int64(int32(fn(string(appendFormat(f.Scratch(), specs, args)))))
		}})
}

// appendFormat prints as C's printf does.
func appendFormat(b []byte, specs []spec, args []expr.Arg) []byte {
	next := 0
	for i := range specs {
		s := &specs[i]
		b = append(b, s.text...)
		if s.verb == 0 || s.verb == '%' {
			continue
		}
		b = s.append(b, args[next])
		next++
	}
	return b
}

func (s *spec) append(b []byte, a expr.Arg) []byte {
	switch s.verb {
	case 's':
		text := expr.Trim(a.S)
		if s.prec >= 0 && len(text) > s.prec {
			text = text[:s.prec]
		}
		// Line ends in a text of a process are escaped, so that it cannot fake
		// a line.
		var scratch [64]byte
		return s.pad(b, "", plain.Tail(append(scratch[:0], text...), 0), false)
	case 'c':
		return s.pad(b, "", []byte{byte(a.I)}, false)
	}
	var digits [72]byte
	num, sign := digits[:0], ""
	v := uint64(a.I)
	cut := 64 - s.bits
	switch s.verb {
	case 'd', 'i':
		n := a.I << cut >> cut
		v = uint64(n)
		switch {
		case n < 0:
			sign, v = "-", -v
		case s.plus:
			sign = "+"
		case s.space:
			sign = " "
		}
		num = strconv.AppendUint(num, v, 10)
	default:
		v = v << cut >> cut
		base := 10
		switch s.verb {
		case 'o':
			base = 8
		case 'x', 'X', 'p':
			base = 16
		}
		num = strconv.AppendUint(num, v, base)
		if s.verb == 'p' || s.alt && v != 0 && base == 16 {
			sign = "0x"
		}
		if s.verb == 'X' {
			for i, d := range num {
				if d >= 'a' {
					num[i] = d - 'a' + 'A'
				}
			}
			if sign != "" {
				sign = "0X"
			}
		}
		if s.verb == 'o' && s.alt && num[0] != '0' {
			sign = "0"
		}
	}
	if v == 0 && s.prec == 0 && s.verb != 'p' {
		num = num[:0]
	}
	if n := s.prec - len(num); n > 0 {
		if s.verb == 'o' && sign == "0" {
			sign = ""
		}
		// Leading zeros go before the digits; the precision is bounded.
		b2 := make([]byte, 0, s.prec)
		for ; n > 0; n-- {
			b2 = append(b2, '0')
		}
		num = append(b2, num...)
	}
	return s.pad(b, sign, num, s.zero && s.prec < 0)
}

func (s *spec) pad(b []byte, sign string, body []byte, zeros bool) []byte {
	n := s.width - len(sign) - len(body)
	if n > 0 && !s.minus && !zeros {
		b = fill(b, ' ', n)
	}
	b = append(b, sign...)
	if n > 0 && !s.minus && zeros {
		b = fill(b, '0', n)
	}
	b = append(b, body...)
	if n > 0 && s.minus {
		b = fill(b, ' ', n)
	}
	return b
}

func fill(b []byte, c byte, n int) []byte {
	for ; n > 0; n-- {
		b = append(b, c)
	}
	return b
}
