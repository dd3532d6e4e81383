package expr

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"unsafe"
)

// This file has Starlark's methods of texts: finding, cutting, changing case.
// Offsets count bytes.

// A TextFn is the method of a TextOp.
type TextFn uint8

const (
	// TextFind is the offset of Args[0] in X, of the last one if I is 1; -1 if
	// there is none.
	TextFind TextFn = iota
	// TextCount is the number of times that Args[0] is in X.
	TextCount
	// TextLower and TextUpper change the case of letters.
	TextLower
	TextUpper
	// TextStrip removes white space, or the characters in Args[0], on the left
	// (bit 1 of I) and on the right (bit 2).
	TextStrip
	// TextTrim removes Args[0] at the begin of X (I is 1) or at its end (2).
	TextTrim
	// TextSplit is part I of X, which is cut at each Args[0]; a negative I counts
	// from the last. A missing part sets Frame.Err.
	TextSplit
	// TextCut is X[Args[0]:Args[1]] with computed bounds; without Args[1] it goes
	// to the end.
	TextCut
	// TextAt is the byte at Args[0] as a text. An offset out of range sets
	// Frame.Err.
	TextAt
)

var textFns = [...]struct {
	name string
	args int  // largest number of Args
	fail bool // it may set Frame.Err
}{
	TextFind:  {"find", 1, false},
	TextCount: {"count", 1, false},
	TextLower: {"lower", 0, false},
	TextUpper: {"upper", 0, false},
	TextStrip: {"strip", 1, false},
	TextTrim:  {"trim", 1, false},
	TextSplit: {"split", 1, true},
	TextCut:   {"cut", 2, true},
	TextAt:    {"at", 1, true},
}

// A TextOp is a method of a text.
type TextOp struct {
	Fn   TextFn
	X    Node
	Args []Node
	I    int
}

func (n *TextOp) Type() Type {
	if n.Fn == TextFind || n.Fn == TextCount {
		return TInt
	}
	return TStr
}

func (n *TextOp) String() string {
	args := append([]Node{n.X}, n.Args...)
	if n.Fn == TextFind || n.Fn >= TextStrip && n.Fn <= TextSplit {
		args = append(args, NewInt(int64(n.I)))
	}
	return textFns[n.Fn].name + "(" + join(args, ", ") + ")"
}

// MayFail reports that the operation itself can set Frame.Err.
func (n *TextOp) MayFail() bool { return textFns[n.Fn].fail }

var errSeparator = errors.New("an empty separator")

// NewTextOp applies a method to a text.
func NewTextOp(fn TextFn, x Node, i int, args ...Node) (Node, error) {
	if x.Type().Kind != Str {
		return nil, fmt.Errorf("%s of a %s", textFns[fn].name, x.Type())
	}
	for _, a := range args {
		want := Str
		if fn == TextCut || fn == TextAt {
			want = Int
		}
		if a.Type().Kind != want {
			return nil, fmt.Errorf("%s with a %s", textFns[fn].name, a.Type())
		}
	}
	if len(args) > textFns[fn].args {
		return nil, fmt.Errorf("%s with %d arguments", textFns[fn].name, len(args))
	}
	if fn == TextSplit {
		if c, ok := args[0].(*Const); ok && c.Str == "" {
			return nil, errSeparator
		}
	}
	return Fold(&TextOp{fn, x, args, i}), nil
}

// textInt compiles a method whose result is a number.
func textInt(n *TextOp) intFn {
	x, y, last := genStr(n.X), genStr(n.Args[0]), n.I == 1
	switch {
	case n.Fn == TextCount:
		return func(f *Frame) int64 { return int64(bytes.Count(x(f), y(f))) }
	case last:
		return func(f *Frame) int64 { return int64(bytes.LastIndex(x(f), y(f))) }
	}
	return func(f *Frame) int64 { return int64(bytes.Index(x(f), y(f))) }
}

// textStr compiles a method whose result is a text.
func textStr(n *TextOp) strFn {
	x := genStr(n.X)
	switch n.Fn {
	case TextLower, TextUpper:
		return textCase(x, n.Fn == TextUpper)
	case TextStrip:
		return textStrip(n, x)
	case TextTrim:
		y := genStr(n.Args[0])
		if n.I == 1 {
			return func(f *Frame) []byte { return bytes.TrimPrefix(x(f), y(f)) }
		}
		return func(f *Frame) []byte { return bytes.TrimSuffix(x(f), y(f)) }
	case TextSplit:
		return textSplit(n, x)
	}
	lo := genInt(n.Args[0])
	if n.Fn == TextAt {
		return func(f *Frame) []byte {
			s, i := x(f), lo(f)
			if i < 0 {
				i += int64(len(s))
			}
			if i < 0 || i >= int64(len(s)) {
				f.Fail(ErrIndex)
				return nil
			}
			return s[i : i+1]
		}
	}
	hi := func(*Frame) int64 { return math.MaxInt32 }
	if len(n.Args) > 1 {
		hi = genInt(n.Args[1])
	}
	return func(f *Frame) []byte {
		s := x(f)
		from, to := cutAt(f, lo(f), len(s)), cutAt(f, hi(f), len(s))
		if from >= to {
			return nil
		}
		return s[from:to]
	}
}

// cutAt converts a bound of a slice to an offset in the text. Starlark's bounds
// have 32 bits.
func cutAt(f *Frame, i int64, size int) int {
	if i != int64(int32(i)) {
		f.Fail(ErrIndex)
		return 0
	}
	if i < 0 {
		i += int64(size)
	}
	return int(min(max(i, 0), int64(size)))
}

func textCase(x strFn, upper bool) strFn {
	return func(f *Frame) []byte {
		s := x(f)
		out := f.Scratch()
		for _, b := range s {
			switch {
			case b >= 0x80:
				// Slow path: letters beyond ASCII.
				text := unsafe.String(unsafe.SliceData(s), len(s))
				if upper {
					return f.Keep(append(f.Scratch(), strings.ToUpper(text)...))
				}
				return f.Keep(append(f.Scratch(), strings.ToLower(text)...))
			case upper && b >= 'a' && b <= 'z', !upper && b >= 'A' && b <= 'Z':
				b ^= 'a' - 'A'
			}
			out = append(out, b)
		}
		return f.Keep(out)
	}
}

func textStrip(n *TextOp, x strFn) strFn {
	left, right := n.I&1 != 0, n.I&2 != 0
	if len(n.Args) == 0 {
		const space = "\t\n\v\f\r \u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007" +
			"\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
		return strip(x, func(*Frame) []byte { return Bytes(space) }, left, right)
	}
	return strip(x, genStr(n.Args[0]), left, right)
}

func strip(x, set strFn, left, right bool) strFn {
	return func(f *Frame) []byte {
		s, cut := x(f), set(f)
		chars := unsafe.String(unsafe.SliceData(cut), len(cut))
		if left {
			s = bytes.TrimLeft(s, chars)
		}
		if right {
			s = bytes.TrimRight(s, chars)
		}
		return s
	}
}

func textSplit(n *TextOp, x strFn) strFn {
	sep, i := genStr(n.Args[0]), n.I
	return func(f *Frame) []byte {
		s, cut := x(f), sep(f)
		if len(cut) == 0 {
			f.Fail(errSeparator)
			return nil
		}
		skip := i
		if skip < 0 {
			// Separators are found from the left, also if they overlap.
			if skip += bytes.Count(s, cut) + 1; skip < 0 {
				f.Fail(ErrIndex)
				return nil
			}
		}
		for ; skip > 0; skip-- {
			_, rest, more := bytes.Cut(s, cut)
			if !more {
				f.Fail(ErrIndex)
				return nil
			}
			s = rest
		}
		part, _, _ := bytes.Cut(s, cut)
		return part
	}
}
