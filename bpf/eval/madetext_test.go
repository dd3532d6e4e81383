package eval

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
	"ppscript/tests/testkit/bpftest"
)

// The input: a text, and a number behind it.
const room = 24

var (
	whole  = textField(0, room)
	index  = numberField(room, false)
	inputs = []string{"", "a", "abc", "a,b,,c", "/usr/lib/x.so", "abcdefgh", "ABCxyz[`{@",
		"ababababababababababab1"}
)

// maker makes texts of others, of those above.
func maker(c *assembler.Code, in int16, fail assembler.Label) *Eval {
	return evaluator(c, in, fail, whole, index)
}

// textProgram runs a program that computes a text, as a function of the input.
func textProgram(t *testing.T, node expr.Node) func(a string, number int) (string, bool) {
	t.Helper()
	size := maker(nil, 0, 0).Env.Room(node)
	b := bpftest.Builder{Spills: true, In: room + 8, Out: max(size, room)}
	p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		maker(c, in, fail).makeText(out, size, node)
	})
	return func(a string, number int) (string, bool) {
		out, ok := p.Run(append(bpftest.Text(a, room), bpftest.Bytes(uint64(number))...))
		s, rest, _ := strings.Cut(string(out), "\x00")
		if strings.Trim(rest, "\x00") != "" {
			t.Errorf("%s of %q: got %q behind the end, want zeros", node, a, rest)
		}
		return s, ok
	}
}

func op(fn expr.TextFn, i int, args ...expr.Node) *expr.TextOp {
	return &expr.TextOp{Fn: fn, X: whole, I: i, Args: args}
}

// each compares a text with the wanted one; false is a failure.
func each(t *testing.T, node expr.Node, want func(a string, number int) (string, bool)) {
	t.Helper()
	f := textProgram(t, node)
	for _, a := range inputs {
		for _, number := range []int{0, 1, 3, 7, 23, 24, -1, -3, -24} {
			got, ok := f(a, number)
			if want, fits := want(a, number); ok != fits || ok && got != want {
				t.Errorf("%s of %q and %d: got %q, %t, want %q, %t", node, a, number, got, ok, want, fits)
			}
		}
	}
}

// cut is a[lo:hi] as Python has it.
func cut(a string, lo, hi int) string {
	at := func(i int) int {
		if i < 0 {
			i += len(a)
		}
		return min(max(i, 0), len(a))
	}
	return a[at(lo):max(at(lo), at(hi))]
}

func TestCut(t *testing.T) {
	always := func(f func(a string, i int) string) func(string, int) (string, bool) {
		return func(a string, i int) (string, bool) { return f(a, i), true }
	}
	each(t, op(expr.TextCut, 0, index), always(func(a string, i int) string { return cut(a, i, len(a)) }))
	each(t, op(expr.TextCut, 0, index, expr.NewInt(5)), always(func(a string, i int) string {
		return cut(a, i, 5)
	}))
	each(t, op(expr.TextCut, 0, expr.NewInt(-4), index), always(func(a string, i int) string {
		return cut(a, -4, i)
	}))
	for _, s := range []*expr.Slice{{Lo: 0, Hi: 3}, {Lo: 2, Hi: 9}, {Lo: 3, NoHi: true}, {Lo: -3, NoHi: true},
		{Lo: 1, Hi: -1}, {Lo: -5, Hi: -2}, {Lo: 9, Hi: 3}} {
		s.X = whole
		each(t, s, always(func(a string, _ int) string {
			if s.NoHi {
				return cut(a, s.Lo, len(a))
			}
			return cut(a, s.Lo, s.Hi)
		}))
	}
	each(t, op(expr.TextAt, 0, index), func(a string, i int) (string, bool) {
		if i < 0 {
			i += len(a)
		}
		if i < 0 || i >= len(a) {
			return "", false
		}
		return a[i : i+1], true
	})
}

func TestCaseAndChoice(t *testing.T) {
	each(t, op(expr.TextUpper, 0), func(a string, _ int) (string, bool) { return strings.ToUpper(a), true })
	each(t, op(expr.TextLower, 0), func(a string, _ int) (string, bool) { return strings.ToLower(a), true })
	choice := &expr.Cond{Test: index, Then: whole, Else: expr.NewStr("none")}
	each(t, choice, func(a string, i int) (string, bool) {
		if i != 0 {
			return a, true
		}
		return "none", true
	})
}

func TestTrim(t *testing.T) {
	for _, k := range []string{"a", "/usr", ".so", "abcdefgh", "1"} {
		each(t, op(expr.TextTrim, 1, expr.NewStr(k)), func(a string, _ int) (string, bool) {
			return strings.TrimPrefix(a, k), true
		})
		each(t, op(expr.TextTrim, 2, expr.NewStr(k)), func(a string, _ int) (string, bool) {
			return strings.TrimSuffix(a, k), true
		})
	}
}

// A part that is not there fails.
func TestSplit(t *testing.T) {
	for _, sep := range []string{",", "/", "ab"} {
		for _, i := range []int{0, 1, 2, 3, -1} {
			if i < 0 && len(sep) > 1 {
				continue // as TestRefused has it
			}
			each(t, op(expr.TextSplit, i, expr.NewStr(sep)), func(a string, _ int) (string, bool) {
				parts := strings.Split(a, sep)
				if i < 0 {
					return parts[len(parts)-1], true
				}
				if i >= len(parts) {
					return "", false
				}
				return parts[i], true
			})
		}
	}
}

func TestFind(t *testing.T) {
	for _, sub := range []string{"", "b", "ab", ".so"} {
		for _, last := range []int{0, 1} {
			b := bpftest.Builder{Spills: true, In: room, Out: 8}
			p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
				maker(c, in, fail).findText(op(expr.TextFind, last, expr.NewStr(sub)))
				c.Store(out, asm.R0)
			})
			for _, a := range inputs {
				want := strings.Index(a, sub)
				if last == 1 {
					want = strings.LastIndex(a, sub)
				}
				if out, ok := p.Words(bytesOf(a)...); !ok || int(int64(out[0])) != want {
					t.Errorf("%q in %q, last %d: got %d, want %d", sub, a, last, int64(out[0]), want)
				}
			}
		}
	}
}

// TestRoom checks that room is no more than what the text can need.
func TestRoom(t *testing.T) {
	f := func(n expr.Node, want int) {
		t.Helper()
		if got := maker(nil, 0, 0).Env.madeRoom(n); got != want {
			t.Errorf("%s: got room for %d, want %d", n, got, want)
		}
	}
	f(&expr.Slice{X: whole, Lo: 0, Hi: 7}, 8)
	f(&expr.Slice{X: whole, Lo: 0, Hi: 8}, 16)
	f(&expr.Slice{X: whole, Lo: 20, NoHi: true}, 8)
	f(&expr.Slice{X: whole, Lo: -3, NoHi: true}, room)
	f(op(expr.TextAt, 0, index), 8)
	f(op(expr.TextUpper, 0), room)
	f(&expr.Cond{Test: index, Then: expr.NewStr("x"), Else: whole}, room)
	f(whole, 0)
}

func TestRefused(t *testing.T) {
	for _, node := range []*expr.TextOp{
		op(expr.TextSplit, 0, whole), op(expr.TextSplit, 4, expr.NewStr(",")),
		op(expr.TextSplit, -2, expr.NewStr(",")),
		op(expr.TextSplit, -1, expr.NewStr("ab")), op(expr.TextTrim, 1, whole),
		op(expr.TextTrim, 1, expr.NewStr("")),
		op(expr.TextStrip, 3), op(expr.TextSplit, 0, expr.NewStr("123456789")),
	} {
		bpftest.Refused(t, node.String(), func(c *assembler.Code) {
			in := c.Alloc(room + 8)
			maker(c, in, c.Label()).makeText(c.Alloc(room), room, node)
		})
	}
}

func bytesOf(a string) []uint64 { return Words(a, room) }
