package eval

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
	"ppscript/runtime/text/glob"
	"ppscript/tests/testkit/bpftest"
)

// The texts of an input: of two sizes, which are compared with each other.
const (
	roomA = 16
	roomB = 24
)

var (
	textA, textB = textField(0, roomA), textField(roomA, roomB)
	compared     = []string{"", "a", "ab", "b", "abcdefg", "abcdefgh", "abcdefghi", "kworker/0:1",
		"0123456789abcde"}
)

func comparer(c *assembler.Code, in int16, fail assembler.Label) *Eval {
	return evaluator(c, in, fail, textA, textB)
}

// truth is a program that says whether a jump for a truth is taken, for false and for true.
func truth(t *testing.T, what string, jump func(e *Eval, want bool,
	l assembler.Label)) func(x,
	y string, want bool) {
	t.Helper()
	bld := bpftest.Builder{Spills: true, In: roomA + roomB, Out: 16}
	p := bld.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		for i, want := range []bool{false, true} {
			taken, end := c.Label(), c.Label()
			jump(comparer(c, in, fail), want, taken)
			c.GoTo(end)
			c.Place(taken)
			c.Set(out+int16(8*i), 1)
			c.Place(end)
		}
	})
	return func(x, y string, want bool) {
		t.Helper()
		out, ok := p.Run(append(bpftest.Text(x, roomA), bpftest.Text(y, roomB)...))
		if got := out[8] == 1; !ok || got != want || out[0] == 1 == want {
			t.Errorf("%q %s %q: got jumps %d for false and %d for true, want %t", x, what, y, out[0],
				out[8], want)
		}
	}
}

func TestComparisons(t *testing.T) {
	f := func(op expr.Op, want func(x, y string) bool) {
		t.Helper()
		is := truth(t, op.String(), func(e *Eval, want bool, l assembler.Label) {
			e.compareTexts(&expr.Binary{Op: op, T: expr.TBool, X: textA, Y: textB}, want, l)
		})
		for _, x := range compared {
			for _, y := range append([]string{"0123456789abcdefgh", "abcdefghijklmnopqrstuvw"}, compared...) {
				is(x, y, want(x, y))
			}
		}
	}
	f(expr.OpStrEq, func(x, y string) bool { return x == y })
	f(expr.OpStrNe, func(x, y string) bool { return x != y })
	f(expr.OpStrLt, func(x, y string) bool { return x < y })
	f(expr.OpStrLe, func(x, y string) bool { return x <= y })
}

// Constants on either side, and patterns, are compared as in Go, and globs as package glob has them.
func TestComparisonsWithConstants(t *testing.T) {
	f := func(op expr.Op, k string, want func(x, y string) bool) {
		t.Helper()
		is := truth(t, op.String(), func(e *Eval, want bool, l assembler.Label) {
			e.compareTexts(&expr.Binary{Op: op, T: expr.TBool, X: textA, Y: expr.NewStr(k)}, want, l)
		})
		for _, x := range compared {
			is(x, k, want(x, k))
		}
	}
	for _, k := range []string{"", "a", "abcdefgh", "kworker", "0123456789abcde", "0123456789abcdefgh"} {
		f(expr.OpStrEq, k, func(x, y string) bool { return x == y })
		f(expr.OpStrNe, k, func(x, y string) bool { return x != y })
		f(expr.OpPrefix, k, strings.HasPrefix)
		f(expr.OpSuffix, k, strings.HasSuffix)
		f(expr.OpContains, k, strings.Contains)
	}
	for _, g := range []string{"*", "a*", "ab", "*[0-9]", "k*:?", "**", "?"} {
		f(expr.OpGlob, g, func(x, y string) bool { return glob.Match(y, x) })
	}
	is := truth(t, "==", func(e *Eval, want bool, l assembler.Label) {
		e.compareTexts(&expr.Binary{Op: expr.OpStrEq, T: expr.TBool, X: expr.NewStr("ab"), Y: textB}, want, l)
	})
	is("", "ab", true)
	is("", "abc", false)
}

func TestTruthAndLength(t *testing.T) {
	is := truth(t, "is not empty", func(e *Eval, want bool,
		l assembler.Label) {
		e.textTruth(textA, want, l)
	})
	empty := truth(t, "\"\" is not empty", func(e *Eval, want bool, l assembler.Label) {
		e.textTruth(expr.NewStr(""), want, l)
	})
	bld := bpftest.Builder{Spills: true, In: roomA, Out: 16}
	length := bld.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		comparer(c, in, fail).textLength(textA)
		c.Store(out, asm.R0)
		comparer(c, in, fail).textLength(expr.NewStr("four"))
		c.Store(out+8, asm.R0)
	})
	for _, x := range compared {
		is(x, "", x != "")
		empty(x, "", false)
		if out, ok := length.Run([]byte(x)); !ok || int(out[0]) != len(x) || out[8] != 4 {
			t.Errorf("%q: got lengths %d and %d, want %d and 4", x, out[0], out[8], len(x))
		}
	}
}

// Patterns that only the event knows run natively.
func TestPatternThatIsNoConstant(t *testing.T) {
	bpftest.Refused(t, "a pattern in a field", func(c *assembler.Code) {
		comparer(c, c.Alloc(roomA+roomB), c.Label()).compareTexts(
			&expr.Binary{Op: expr.OpGlob, T: expr.TBool, X: textA, Y: textB}, true, c.Label())
	})
}
