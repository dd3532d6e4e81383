package eval

import (
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
	"ppscript/runtime/text/glob"
	"ppscript/tests/testkit/bpftest"
)

// placeRoom is the room of each text of these tests: a text has up to 23 bytes.
const placeRoom = 24

// texts are empty, of all lengths around words, full, and have letters of both cases and what lies
// beside these, and parts again and again.
var texts = []string{"", "a", "ab", "Az@[`{", "abcdefg", "abcdefgh", "abcdefghi", "abababababababababababa",
	"kworker/0:1-mm_percpu_w", "/usr/lib/x.so", "a,b,,c", "ABCDEFGH", "ab\x01\x7f"}

// placeTruth is a program that says where a jump went, with a text, or two of them, at places of the stack.
func placeTruth(t *testing.T, jump func(e textCode, a, b int16, want bool, l assembler.Label)) func(a,
	b string) bool {
	t.Helper()
	b := bpftest.Builder{Spills: true, In: 2 * placeRoom, Out: 16}
	p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		for i, want := range []bool{false, true} {
			taken, end := c.Label(), c.Label()
			jump(textCode{Code: c, Fail: fail}, in, in+placeRoom, want, taken)
			c.GoTo(end)
			c.Place(taken)
			c.Set(out+int16(8*i), 1)
			c.Place(end)
		}
	})
	return func(a, b string) bool {
		out, ok := p.Words(words(a, b)...)
		if !ok || out[0]+out[1] != 1 {
			t.Errorf("%q, %q: got jumps %v for false and true, %t, want one of them", a, b, out, ok)
		}
		return out[1] == 1
	}
}

// words are texts as they lie in the input.
func words(texts ...string) (list []uint64) {
	for _, s := range texts {
		list = append(list, Words(s, placeRoom)...)
	}
	return list
}

func TestComparisonsOfPlaces(t *testing.T) {
	type jump = func(e textCode, a, b int16, want bool, l assembler.Label)
	for name, c := range map[string]struct {
		jump jump
		want func(a, b string) bool
	}{
		"==": {func(e textCode, a, b int16, want bool, l assembler.Label) {
			e.equal(a, b, placeRoom, want, l)
		},
			func(a, b string) bool { return a == b }},
		"<": {func(e textCode, a, b int16, want bool, l assembler.Label) {
			e.order(a, b, placeRoom, false, want, l)
		},
			func(a, b string) bool { return a < b }},
		"<=": {func(e textCode, a, b int16, want bool, l assembler.Label) {
			e.order(a, b, placeRoom, true, want, l)
		},
			func(a, b string) bool { return a <= b }},
	} {
		is := placeTruth(t, c.jump)
		for _, a := range texts {
			for _, b := range texts {
				if got, want := is(a, b), c.want(a, b); got != want {
					t.Errorf("%q %s %q: got %t", a, name, b, got)
				}
			}
		}
	}
}

func TestComparisonsOfPlacesWithConstants(t *testing.T) {
	long := strings.Repeat("a", placeRoom)
	for _, k := range append([]string{"abc", "abcdefgX", "ab\x00", long}, texts...) {
		equal := placeTruth(t, func(e textCode, a, _ int16, want bool, l assembler.Label) {
			e.equalsConst(a, placeRoom, k, want, l)
		})
		prefix := placeTruth(t, func(e textCode, a, _ int16, want bool, l assembler.Label) {
			e.hasPrefix(a, placeRoom, k, want, l)
		})
		for _, a := range texts {
			if got := equal(a, ""); got != (a == k) {
				t.Errorf("%q == %q: got %t", a, k, got)
			}
			if got, want := prefix(a, ""), strings.HasPrefix(a, k); got != want {
				t.Errorf("%q starts with %q: got %t", a, k, got)
			}
		}
	}
}

func TestMatches(t *testing.T) {
	for _, g := range []string{"*", "?", "a*", "*b", "*a*b*", "??", "[a-f]*", "[^a]*", "*[0-9]:?-*",
		"abc*ghi", "*.so",
		"a,b,,c", "*ab"} {
		is := placeTruth(t, func(e textCode, a, _ int16, want bool, l assembler.Label) {
			e.matches(a, placeRoom, globPattern(g), g, want, l)
		})
		for _, a := range texts {
			if got, want := is(a, ""), glob.Match(g, a); got != want {
				t.Errorf("%q matches %s: got %t", a, g, got)
			}
		}
	}
}

// number is a program that leaves a number of a text in R0.
func number(t *testing.T, leave func(e textCode, text int16)) func(a string) int {
	t.Helper()
	b := bpftest.Builder{Spills: true, In: placeRoom, Out: 8}
	p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		leave(textCode{Code: c, Fail: fail}, in)
		c.Store(out, asm.R0)
	})
	return func(a string) int {
		out, ok := p.Words(words(a)...)
		if !ok {
			t.Errorf("%q: got a failure", a)
		}
		return int(int64(out[0]))
	}
}

func TestLengths(t *testing.T) {
	count := number(t, func(e textCode, text int16) { e.count(text, placeRoom) })
	length := number(t, func(e textCode, text int16) { e.length(text, placeRoom) })
	for _, a := range texts {
		if c, l := count(a), length(a); c != len(a) || l != len(a) {
			t.Errorf("%q: got %d and %d bytes, want %d", a, c, l, len(a))
		}
	}
}

func TestFindInPlaces(t *testing.T) {
	for _, sub := range []string{"a", "b", "ab", "aba", ",", ",,", "/", ".so", "abcdefgh", "x", "\x7f",
		"[`"} {
		first := number(t, func(e textCode, text int16) { e.find(text, placeRoom, sub, false) })
		last := number(t, func(e textCode, text int16) { e.find(text, placeRoom, sub, true) })
		for _, a := range texts {
			if got, want := first(a), strings.Index(a, sub); got != want {
				t.Errorf("%q in %q: got %d, want %d", sub, a, got, want)
			}
			if got, want := last(a), strings.LastIndex(a, sub); got != want {
				t.Errorf("last %q in %q: got %d, want %d", sub, a, got, want)
			}
		}
	}
	none := number(t, func(e textCode, text int16) { e.find(text, 8, "12345678", false) })
	if got := none("1234567"); got != -1 {
		t.Errorf("a text that is longer than the room: got %d, want -1", got)
	}
}

// change is a program that makes a text of the input: of a text, and of two numbers behind it.
func change(t *testing.T, to int, made func(e textCode, out, text, numbers int16)) func(a string,
	numbers ...int) (string, bool) {
	t.Helper()
	b := bpftest.Builder{Spills: true, In: placeRoom + 16, Out: to}
	p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		made(textCode{Code: c, Fail: fail}, out, in, in+placeRoom)
	})
	return func(a string, numbers ...int) (string, bool) {
		in := words(a)
		for _, n := range numbers {
			in = append(in, uint64(n))
		}
		out, ok := p.Run(bpftest.Bytes(in...))
		n := slices.Index(out, 0)
		if n < 0 {
			t.Errorf("%q: got no end", a)
			return string(out), ok
		}
		if rest := strings.Trim(string(out[n:]), "\x00"); rest != "" {
			t.Errorf("%q: got %q behind the end, want zeros", a, rest)
		}
		return string(out[:n]), ok
	}
}

func TestChangeCase(t *testing.T) {
	for upper, want := range map[bool]func(string) string{true: strings.ToUpper, false: strings.ToLower} {
		changed := change(t, placeRoom, func(e textCode, out, text, _ int16) {
			for i := int16(0); i < placeRoom; i += 8 {
				e.Load(asm.R0, text+i)
				e.Store(out+i, asm.R0)
			}
			e.changeCase(out, placeRoom, upper)
		})
		for _, a := range texts {
			if got, ok := changed(a); !ok || got != want(a) {
				t.Errorf("%q, upper %t: got %q, %t", a, upper, got, ok)
			}
		}
		if got, ok := changed("größe"); ok {
			t.Errorf("letters beyond ASCII: got %q, want a failure", got)
		}
	}
}

func TestFront(t *testing.T) {
	for _, c := range [][2]int{{0, 0}, {0, 5}, {0, 8}, {3, 8}, {7, 9}, {8, 16}, {9, 23}, {1, 23}, {22, 23}} {
		lo, hi := c[0], c[1]
		front := change(t, placeRoom, func(e textCode, out, text, _ int16) {
			e.front(out, placeRoom, text, placeRoom, lo, hi-lo)
		})
		for _, a := range texts {
			want := a[min(lo, len(a)):min(hi, len(a))]
			if got, ok := front(a); !ok || got != want {
				t.Errorf("%q[%d:%d]: got %q, %t, want %q", a, lo, hi, got, ok, want)
			}
		}
	}
}

// TestComputedBounds checks that bounds that are computed are Starlark's: they count from the end
// if they are negative, end where the text does, and take no more than 32 bits.
func TestComputedBounds(t *testing.T) {
	cut := change(t, placeRoom, func(e textCode, out, text, numbers int16) {
		length, from := e.Alloc(8), e.Alloc(8)
		e.length(text, placeRoom)
		e.Store(length, asm.R0)
		e.Load(asm.R0, numbers)
		e.index(false, length)
		e.clamp()
		e.Store(from, asm.R0)
		e.Load(asm.R0, numbers+8)
		e.index(false, length)
		e.clamp()
		e.Load(asm.R3, from)
		e.Emit(asm.Mov.Reg(asm.R2, asm.R0), asm.Sub.Reg(asm.R2, asm.R3))
		e.copyPart(out, placeRoom, text, placeRoom)
	})
	at := func(a string, i int) int {
		if i < 0 {
			i += len(a)
		}
		return min(max(i, 0), len(a))
	}
	bounds := []int{0, 1, 2, 7, 8, 22, 23, 24, 1 << 30, -1, -2, -8, -23, -24, -(1 << 31)}
	for _, a := range texts {
		for _, lo := range bounds {
			for _, hi := range bounds {
				want := a[at(a, lo):max(at(a, lo), at(a, hi))]
				if got, ok := cut(a, lo, hi); !ok || got != want {
					t.Errorf("%q[%d:%d]: got %q, %t, want %q", a, lo, hi, got, ok, want)
				}
			}
		}
	}
	if got, ok := cut("abc", 0, 1<<31); ok {
		t.Errorf("an index of 33 bits: got %q, want a failure", got)
	}
}

func TestTail(t *testing.T) {
	tail := change(t, placeRoom, func(e textCode, out, text, numbers int16) {
		e.Load(asm.R0, numbers)
		e.tail(out, placeRoom, text, placeRoom)
	})
	for _, a := range texts {
		for from := range len(a) + 1 {
			if got, ok := tail(a, from); !ok || got != a[from:] {
				t.Errorf("%q[%d:]: got %q, %t", a, from, got, ok)
			}
		}
	}
}

func TestSimpleGlob(t *testing.T) {
	f := func(glob, rest string, op expr.Op, ok bool) {
		t.Helper()
		if gotText, gotOp, gotOK := simpleGlob(glob); gotText != rest || gotOp != op || gotOK != ok {
			t.Errorf("%q: got %q, %s, %t, want %q, %s, %t", glob, gotText, gotOp, gotOK, rest, op, ok)
		}
	}
	f("abc", "abc", expr.OpStrEq, true)
	f("", "", expr.OpStrEq, true)
	f("abc*", "abc", expr.OpPrefix, true)
	f("abc**", "abc", expr.OpPrefix, true)
	f("*", "", expr.OpPrefix, true)
	f("a*c", "", 0, false)
	f("a?", "", 0, false)
	f("[ab]", "", 0, false)
}
