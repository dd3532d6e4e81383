package state_test

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
	"ppscript/tests/testkit/bpftest"
)

// A keeper is a program that keeps two texts with the running thread.
type keeper struct {
	t *testing.T
	p *bpftest.Program
}

// What a keeper does: the input is that, where the texts are, and the result of the call or its number.
const (
	begins uint64 = iota
	waits
	ends
	copies // the first text; the second one is behind it
	sends  = copies + 2
)

const keptRoom = assembler.UserRoom

// newKeeper makes the program. result says that the end of the call has a result.
func newKeeper(t *testing.T, begin state.CallBegin, anyCall, result bool) keeper {
	t.Helper()
	kept := load.ScratchMap.Of(7)
	b := bpftest.Builder{In: 32, Out: 8 + keptRoom}
	b.Define(kept, state.CallTextsMap(state.CallTextsSize(2)))
	p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		k := state.CallTextKeeper{Code: c, Map: kept}
		at := begin
		at.Addrs = []int16{in + 8, in + 16}
		if anyCall {
			at.ID = in + 24
		}
		var ret int16
		if result {
			ret = in + 24
		}
		end := c.Label()
		for op, do := range []func(){
			begins:     func() { k.Keep(at, fail) },
			waits:      func() { k.Waiting(fail) },
			ends:       func() { k.Again(2, ret, fail) },
			copies:     func() { k.Copy(0, out+8, keptRoom, fail); c.Store(out, asm.R0) },
			copies + 1: func() { k.Copy(1, out+8, keptRoom, fail); c.Store(out, asm.R0) },
			sends: func() {
				k.Memory(fail)
				k.Address(1)
				c.Store(out, asm.R0)
				c.Addr(asm.R1, out+8)
				k.Send(1)
				c.Load(asm.R1, out)
				c.Load(asm.R2, in+16)
				c.IfReg(asm.JNE, asm.R1, asm.R2, fail)
				c.Store(out, asm.R0)
			},
		} {
			other := c.Label()
			c.Load(asm.R0, in)
			c.IfImm(asm.JNE, asm.R0, int32(op), other)
			do()
			c.GoTo(end)
			c.Place(other)
		}
		c.Place(end)
	})
	return keeper{t, p}
}

func (k keeper) do(op uint64, a, b uintptr, last int64) bool {
	k.t.Helper()
	_, ok := k.p.Words(op, uint64(a), uint64(b), uint64(last))
	return ok
}

// wants checks what both texts are.
func (k keeper) wants(what string, texts ...string) {
	k.t.Helper()
	for i, want := range texts {
		out, ok := k.p.Run(bpftest.Bytes(copies+uint64(i), 0, 0, 0))
		got := unix.ByteSliceToString(out[8:])
		if n := word(out); !ok || got != want || want != "" && n != uint64(len(want)+1) {
			k.t.Errorf("%s: text %d: got %q of %d bytes, %t, want %q", what, i, got, n, ok, want)
		}
	}
}

func word(b []byte) (n uint64) {
	for i, c := range b[:8] {
		n |= uint64(c) << (8 * i)
	}
	return n
}

// text is a text in memory of this process.
func text(s string) (at uintptr, memory []byte) {
	memory = append([]byte(s), 0)
	return uintptr(unsafe.Pointer(unsafe.SliceData(memory))), memory
}

// A text that is in memory when a call begins is read at its begin, whatever it is later; one that is not
// is read when the call ends. One without an address is empty, and of a long one the begin is kept.
func TestTextsOfCalls(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k := newKeeper(t, state.CallBegin{Waits: true}, false, true)
	if k.do(waits, 0, 0, 0) || k.do(ends, 0, 0, 0) {
		t.Error("no call began: got one that ends")
	}
	there, memory := text("/etc/hosts")
	later := testkit.UntouchedTexts(t, 3, func(i int) string { return strings.Repeat("x", 10+i) })
	if !k.do(begins, there, later[0], 0) {
		t.Fatal("got no memory for a thread")
	}
	k.wants("at the begin", "/etc/hosts", event.UserTextFault)
	memory[1] = 'E'
	k.wants("later", "/etc/hosts", event.UserTextFault)
	if testkit.Touch(t, later[0]) != 'x' {
		t.Fatal("the file has another text")
	}
	if !k.do(waits, 0, 0, 0) || k.do(waits, 0, 0, 0) {
		t.Error("got another number of ends that are waited for, want one")
	}
	if !k.do(ends, 0, 0, 0) {
		t.Error("got no end")
	}
	k.wants("at the end", "/etc/hosts", "xxxxxxxxxx")
	if out, ok := k.p.Run(bpftest.Bytes(sends, 0, uint64(later[0]), 0)); !ok || word(out) != 11 ||
		unix.ByteSliceToString(out[8:]) != "xxxxxxxxxx" {
		t.Errorf("sent: got %q, %t", out, ok)
	}

	long, memory2 := text(strings.Repeat("l", 3*keptRoom))
	k.do(begins, 0, long, 0)
	k.wants("none, and a long one", "", strings.Repeat("l", keptRoom-4)+"...")
	k.do(begins, 1, later[1], 0) // no page is at 1
	k.do(ends, 0, 0, 0)
	k.wants("missing still", event.UserTextFault, event.UserTextFault)
	runtime.KeepAlive(memory)
	runtime.KeepAlive(memory2)
}

// A call that has executed another program ends without the memory that had its texts; one that failed to
// has it still.
func TestTextsOfCallsThatExecute(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	execve, ok := kernel.SyscallNumber(runtime.GOARCH, "execve")
	if !ok {
		t.Fatal("no number of execve")
	}
	openat, ok := kernel.SyscallNumber(runtime.GOARCH, "openat")
	if !ok {
		t.Fatal("no number of openat")
	}
	const failed = -2
	f := func(begin state.CallBegin, call, result int64, read bool) {
		t.Helper()
		k := newKeeper(t, begin, call != 0, true)
		at := testkit.UntouchedTexts(t, 2, func(i int) string { return strings.Repeat("y", 5+i) })
		k.do(begins, at[0], at[1], call)
		testkit.Touch(t, at[0])
		testkit.Touch(t, at[1])
		k.do(ends, 0, 0, result)
		if read {
			k.wants("read again", "yyyyy", "yyyyyy")
		} else {
			k.wants("of other memory", event.UserTextFault, event.UserTextFault)
		}
	}
	f(state.CallBegin{}, 0, 0, true)
	f(state.CallBegin{Executes: true}, 0, 0, false)
	f(state.CallBegin{Executes: true}, 0, failed, true)
	f(state.CallBegin{}, execve, 0, false)
	f(state.CallBegin{}, execve, failed, true)
	f(state.CallBegin{}, openat, 0, true)
}

// The end of a call is found by its name, that of any call by the tracepoint of all.
func TestEndsOfCalls(t *testing.T) {
	find := func(system, name string) (uint64, bool) { return 7, name != "sys_exit_gone" }
	f := func(system, name, want string, ok bool) {
		t.Helper()
		e, got := state.CallEndOf(&event.Schema{System: system, Name: name}, find)
		if got != ok || ok && (e.ID != 7 || e.Schema.FullName() != want) {
			t.Errorf("%s:%s: got %s, %t, want %s, %t", system, name, e.Schema.FullName(), got, want, ok)
		}
	}
	f("syscalls", "sys_enter_openat", "syscalls:sys_exit_openat", true)
	f("raw_syscalls", "sys_enter", "raw_syscalls:sys_exit", true)
	f("syscalls", "sys_enter_gone", "", false)
	if _, ok := state.CallEndOf(&event.Schema{System: "syscalls", Name: "sys_enter_openat"}, nil); ok {
		t.Error("nobody knows tracepoints: got one")
	}
}
