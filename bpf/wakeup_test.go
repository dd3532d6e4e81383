package bpf

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/tests/testkit/bpftest"
)

// A wakeup is unnecessary of a task that runs: the one that wakes, and the one that runs on the CPU where it
// is woken, as the last switch there says. The idle task does not count.
func TestUnnecessary(t *testing.T) {
	const cpus = 4
	// The input, by word.
	const (
		cpu, next = 0, 1 // which task runs where from now on
		tid       = 2    // which one wakes
		woken, on = 3, 4
	)
	word := func(i int) *expr.Field {
		return &expr.Field{F: &event.Field{Place: event.InSlot, Offset: i, Size: 8, Signed: true}}
	}
	watch := func(knowsCPU bool) func(words ...uint64) bool {
		b := bpftest.Builder{In: 40, Out: 8}
		id := load.RunningMap.Of(0)
		b.Define(id, &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: cpus})
		p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
			words := &eval.EmitScope{}
			for i := range int16(5) {
				words.Sizes, words.Places = append(words.Sizes, 8), append(words.Places, in+8*i)
			}
			w := wakeups{&eval.Eval{Code: c, Env: eval.Env{Out: words}}, id, word(cpu), word(tid)}
			w.running(word(next))
			done, end := c.Label(), c.Label()
			var where expr.Node
			if knowsCPU {
				where = word(on)
			}
			w.unnecessary(word(woken), where, done)
			c.GoTo(end)
			c.Place(done)
			c.Emit(assembler.StoreImm(asm.R10, out, 1))
			c.Place(end)
		})
		return func(words ...uint64) bool {
			t.Helper()
			out, ok := p.Words(words...)
			if !ok {
				t.Fatalf("%v: the program failed", words)
			}
			return out[0] == 1
		}
	}
	knows, blind := watch(true), watch(false)
	for _, c := range []struct {
		what                      string
		cpu, next, tid, woken, on uint64
		want, blind               bool
	}{
		{"who wakes itself", 0, 8, 7, 7, 1, true, true},
		{"who runs where it is woken", 1, 5, 7, 5, 1, true, false},
		{"who runs on another CPU", 1, 5, 7, 5, 0, false, false},
		{"another than the one who runs", 1, 5, 7, 6, 1, false, false},
		{"nobody is known to run there", 1, 5, 7, 5, 3, false, false},
		{"there is no such CPU", 1, 5, 7, 5, cpus, false, false},
		{"who switched on no CPU", cpus, 9, 7, 9, cpus, false, false},
		{"the idle task", 2, 0, 7, 0, 2, false, false},
		{"a task that is not told", 2, ^uint64(0), 7, ^uint64(0), 2, false, false},
		{"who ran before", 1, 6, 7, 5, 1, false, false},
		{"who runs now", 1, 6, 7, 6, 1, true, false},
	} {
		words := []uint64{c.cpu, c.next, c.tid, c.woken, c.on}
		if got := knows(words...); got != c.want {
			t.Errorf("%s: got unnecessary %t, want %t", c.what, got, c.want)
		}
		if got := blind(words...); got != c.blind {
			t.Errorf("%s, where the CPU is not known: got unnecessary %t, want %t", c.what, got, c.blind)
		}
	}
}
