package eval

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
	"ppscript/tests/testkit/bpftest"
)

// The input: a number, and a text behind it.
const keyRoom = 16

var (
	keyNumber = numberField(0, false)
	keyText   = textField(8, keyRoom)
)

// looked is a program that looks a key up, and leaves the value in its output.
func looked(t *testing.T, d *expr.Dict, key expr.Node) func(n int64, s string) (value []byte, ok bool) {
	t.Helper()
	native := &expr.Native{Args: []expr.Node{key}, Kernel: d}
	b := bpftest.Builder{Spills: true, In: 8 + keyRoom, Out: 24}
	p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		f := evaluator(c, in, fail, keyNumber, keyText)
		if d.Words != nil {
			f.lookUpText(out, 24, native, d)
			return
		}
		f.lookUpNumber(native, d)
		c.Store(out, asm.R0)
	})
	return func(n int64, s string) ([]byte, bool) {
		return p.Run(append(bpftest.Bytes(uint64(n)), bpftest.Text(s, keyRoom)...))
	}
}

func TestNumbersOfDictionaries(t *testing.T) {
	keys := map[int64]int{0: 1, -1: 2, 7: 3, 1 << 40: 4}
	for _, otherwise := range []bool{false, true} {
		f := looked(t, &expr.Dict{Ints: keys, Numbers: []int64{-5, 10, 20, 1 << 50, 40},
			Otherwise: otherwise}, keyNumber)
		for key, want := range map[int64]int64{0: 10, -1: 20, 7: 1 << 50, 1 << 40: 40} {
			if got, ok := f(key, ""); !ok || string(got[:8]) != string(bpftest.Bytes(uint64(want))) {
				t.Errorf("%d: got %v, %t, want %d", key, got, ok, want)
			}
		}
		for _, key := range []int64{1, -7, 1 << 41, 1<<32 + 7} {
			got, ok := f(key, "")
			if ok != otherwise || ok && int64(got[0])-256 != -5 {
				t.Errorf("%d is not there: got %v, %t, want -5, %t", key, got, ok, otherwise)
			}
		}
	}
}

func TestTextsOfDictionaries(t *testing.T) {
	keys := map[string]int{"": 1, "a": 2, "abcdefgh": 0}
	words := [][]byte{[]byte("eight bytes and more"), []byte("nothing"), nil}
	f := looked(t, &expr.Dict{Texts: keys, Words: words}, keyText)
	for key, at := range keys {
		got, ok := f(0, key)
		if s := strings.TrimRight(string(got), "\x00"); !ok || s != string(words[at]) {
			t.Errorf("%q: got %q, %t, want %q", key, s, ok, words[at])
		}
	}
	for _, key := range []string{"b", "abcdefg", "abcdefghi", "A"} {
		if got, ok := f(0, key); ok {
			t.Errorf("%q: got %q, want a failure", key, got)
		}
	}
}

func TestRoomAndBoundsOfDictionaries(t *testing.T) {
	if got := dictRoom(&expr.Dict{Words: [][]byte{nil, []byte("1234567"),
		[]byte("12345678")}}); got != 16 {
		t.Errorf("got room for %d, want 16", got)
	}
	many := map[int64]int{}
	for i := range 65 {
		many[int64(i)] = i
	}
	for what, d := range map[string]*expr.Dict{
		"65 keys":      {Ints: many, Numbers: make([]int64, 65)},
		"a NUL inside": {Texts: map[string]int{"a\x00b": 0}, Numbers: []int64{1}},
	} {
		bpftest.Refused(t, what, func(c *assembler.Code) {
			f := evaluator(c, c.Alloc(8+keyRoom), c.Label(), keyNumber, keyText)
			key := expr.Node(keyNumber)
			if d.Texts != nil {
				key = keyText
			}
			f.lookUpNumber(&expr.Native{Args: []expr.Node{key}, Kernel: d}, d)
		})
	}
}
