package wakeup_test

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/bpf/wakeup"
	"ppscript/tests/testkit/bpftest"
)

// A wakeup is unnecessary of a task that runs: the one that wakes, and the one that runs on the CPU where it
// is woken, as the last switch there says. The idle task does not count.
func TestUnnecessary(t *testing.T) {
	const cpus = 4
	const (
		cpu, next = 0, 8 // who runs where from now on
		tid       = 16   // who wakes
		woken, on = 24, 32
	)
	watch := func(knowsCPU bool) func(words ...uint64) bool {
		b := bpftest.Builder{In: 40, Out: 8}
		id := load.RunningMap.Of(0)
		b.Define(id, &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: cpus})
		p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
			l := bpftest.Leaves{Code: c, In: in}
			w := wakeup.Watch{Code: c, Map: id, Value: l.Num,
				CPU: func(to asm.Register) { c.Load(to, in+cpu) },
				TID: func(to asm.Register) { c.Load(to, in+tid) }}
			w.Running(bpftest.NumberField(next, false))
			done, end := c.Label(), c.Label()
			field := bpftest.NumberField(on, false)
			if knowsCPU {
				w.Unnecessary(bpftest.NumberField(woken, false), field, done)
			} else {
				w.Unnecessary(bpftest.NumberField(woken, false), nil, done)
			}
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
