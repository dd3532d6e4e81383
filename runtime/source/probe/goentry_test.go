package probe

import (
	"debug/elf"
	"os"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/tests/testkit"
)

func TestGoEntry(t *testing.T) {
	f := func(want uint64, m elf.Machine, code string) {
		t.Helper()
		if got := goEntry(m, []byte(code)); got != want {
			t.Errorf("% x: got %d, want %d", code, got, want)
		}
	}
	const (
		small, large = "\x4c\x8d\x64\x24\xf8", "\x4c\x8d\xa4\x24\x00\xf0\xff\xff"
		rsp, r12     = "\x49\x3b\x66\x10", "\x4d\x3b\x66\x10"
		near, far    = "\x76\x21", "\x0f\x86\x8e\x01\x00\x00"
		push         = "\x55\x48\x89\xe5"
	)
	f(6, elf.EM_X86_64, rsp+near+push)
	f(10, elf.EM_X86_64, rsp+far+push)
	f(11, elf.EM_X86_64, small+r12+near+push)
	f(18, elf.EM_X86_64, large+r12+far+push)
	f(4, elf.EM_X86_64, rsp+near+"\x48\x83\xec\x08")
	f(0, elf.EM_X86_64, push)
	f(0, elf.EM_X86_64, rsp+"\x77\x21"+push)
	f(0, elf.EM_X86_64, small+rsp+near+push)
	f(0, elf.EM_X86_64, r12+near+push)
	f(0, elf.EM_AARCH64, rsp+near+push)
	for n := range len(large + r12 + far) {
		f(0, elf.EM_X86_64, (large + r12 + far)[:n])
	}
	f(0, elf.EM_X86_64, rsp+near)
}

// grown is called so often within itself, which takes more stack than a test has at first.
//
//go:noinline
func (w *worker) grown(n int) int {
	var some [2 << 10]byte
	some[n] = 1
	if n == 0 {
		return int(some[1])
	}
	return w.grown(n-1) + int(some[n/2])
}

// A call that grows its stack is one event, with the arguments of the call.
func TestGoEntryOfGrownStack(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes, testkit.AMD64)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	probes := resolve(t, Spec{Kind: Uprobe, File: exe, Name: "ppscript/runtime/source/probe.(*worker).grown"})
	const calls = 100
	args := map[int64]int{}
	record(t, probes, perf.Target{TIDs: []int{onThread(t)}}, func() {
		(&worker{}).grown(calls - 1)
	}, func(_ int, e *event.Event) { args[num(t, e, "arg2")]++ })
	for i := range int64(calls) {
		if args[i] != 1 {
			t.Errorf("call %d: got %d events, want 1", i, args[i])
		}
	}
}
