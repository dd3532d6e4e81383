package hook_test

import (
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
	"ppscript/tests/testkit/bpftest"
)

// schema makes the schema of an event whose record is the context of the programs: 12 words.
func schema(system string, fields ...event.Field) *event.Schema {
	return &event.Schema{System: system, Name: "event", Size: 96, Fields: fields}
}

// of is the hook of an event in a program of a test.
func of(c *assembler.Code, e *hook.Event) *hook.Hook {
	if e.Schema == nil {
		e.Schema = schema("test")
	}
	e.Label = e.Schema.Name
	return hook.New(c, &features.Host{}, e, 0, &load.Target{})
}

// reading is a program that leaves numbers of the context in its output.
func reading(t *testing.T, reads ...func(c *assembler.Code, dst asm.Register)) *bpftest.Program {
	t.Helper()
	b := bpftest.Builder{In: 8, Out: 8 * len(reads)}
	return b.OnStack(t, func(c *assembler.Code, _, out int16, _ assembler.Label) {
		for i, read := range reads {
			read(c, asm.R1)
			c.Store(out+int16(8*i), asm.R1)
		}
	})
}

// TestRecord checks that numbers of the record have their sizes and signs; what programs do not see
// of it is refused.
func TestRecord(t *testing.T) {
	f := func(off, size int, signed bool) func(c *assembler.Code, dst asm.Register) {
		return func(c *assembler.Code, dst asm.Register) {
			of(c, &hook.Event{}).Record(dst, off, size,
				signed)
		}
	}
	p := reading(t, f(8, 8, false), f(8, 4, false), f(8, 4, true), f(12, 2, false), f(10, 2, true), f(15,
		1, true))
	out, ok := p.Context(0, 0xfedcba98_89abcdef)
	want := []uint64{0xfedcba98_89abcdef, 0x89abcdef, 0xffffffff_89abcdef, 0xba98, 0xffffffff_ffff89ab,
		0xffffffff_fffffffe}
	for i := range want {
		if !ok || out[i] != want[i] {
			t.Errorf("number %d: got %#x, want %#x", i, out[i], want[i])
		}
	}
	text := event.Field{Name: "filename", Kind: event.Str, Place: event.DataLoc, Offset: 32, Size: 4}
	for what, read := range map[string]func(c *assembler.Code){
		"the kernel's part": func(c *assembler.Code) { f(0, 4, false)(c, asm.R1) },
		"3 bytes":           func(c *assembler.Code) { f(9, 3, false)(c, asm.R1) },
		"not aligned":       func(c *assembler.Code) { f(12, 8, false)(c, asm.R1) },
		"far away":          func(c *assembler.Code) { f(4096, 8, false)(c, asm.R1) },
		"a probe": func(c *assembler.Code) {
			of(c, &hook.Event{Probe: &hook.Probe{}}).Record(asm.R1, 8, 8, false)
		},
		"a text behind the numbers of a call": func(c *assembler.Code) {
			of(c, &hook.Event{Schema: schema("syscalls", text)}).Record(asm.R1, 32, 4, false)
		},
	} {
		bpftest.Refused(t, what, read)
	}
	c := assembler.New()
	if end, ok := of(c, &hook.Event{Schema: schema("syscalls", text)}).CallNumbers(); !ok || end != 32 {
		t.Errorf("numbers of a call with a text: got %d, %t, want 32", end, ok)
	}
	if _, ok := of(c, &hook.Event{Schema: schema("sched", text)}).CallNumbers(); ok {
		t.Error("numbers of a call: got some of an event that is none")
	}
}

// TestTextsAndArrays checks that texts and arrays are where the record says that they are.
func TestTextsAndArrays(t *testing.T) {
	data := &event.Field{Name: "data", Kind: event.Str, Place: event.DataLoc, Offset: 8, Size: 4}
	rel := &event.Field{Name: "rel", Kind: event.Str, Place: event.RelLoc, Offset: 12, Size: 4}
	fixed := &event.Field{Name: "fixed", Kind: event.Str, Place: event.InRaw, Offset: 40, Size: 7}
	array := &event.Field{Name: "array", Kind: event.Array, Place: event.InRaw, Offset: 16, Size: 16}
	located := func(f *event.Field, view expr.View) func(c *assembler.Code, dst asm.Register) {
		return func(c *assembler.Code, dst asm.Register) {
			of(c, &hook.Event{}).Locator(dst, &expr.Field{F: f, View: view})
		}
	}
	p := reading(t, located(data, expr.ViewOffset), located(data, expr.ViewLen), located(rel,
		expr.ViewOffset),
		located(rel, expr.ViewLen))
	// 9 bytes at 64, 6 bytes behind 20 more of its own place.
	locators := uint64(64|9<<16) | uint64(20|6<<16)<<32
	if out, _ := p.Context(0, locators); out[0] != 64 || out[1] != 9 || out[2] != 36 || out[3] != 6 {
		t.Errorf("got offsets and lengths %d, want 64, 9, 36, 6", out)
	}

	b := bpftest.Builder{In: 8, Out: 72}
	p = b.OnStack(t, func(c *assembler.Code, _, out int16, _ assembler.Label) {
		h := of(c, &hook.Event{})
		h.Array(out, array)
		if !h.ShortText(out+16, fixed) || h.ShortText(out+16, data) {
			t.Error("got another size for known than that of texts at a fixed place")
		}
		h.Located(out+24, 24, data)
		h.ShortText(out+48, &event.Field{Name: "comm", Kind: event.Str, Place: event.InMember})
	})
	text := binary.LittleEndian.Uint64([]byte("a text: "))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, _ := p.Context(0, locators, 7, 1<<63, 0, text, 0, 0, text, 0)
	comm, err := os.ReadFile("/proc/thread-self/comm")
	if err != nil {
		t.Fatal(err)
	}
	if out[0] != 7 || out[1] != 1<<63 {
		t.Errorf("array: got %d, want 7, 1<<63", out[:2])
	}
	if got := string(bpftest.Bytes(out[2])); got != "a text:\x00" {
		t.Errorf("a text of 7 bytes: got %q", got)
	}
	if got := string(bpftest.Bytes(out[4])); out[3] != 64|9<<16 || got != "a text: " {
		t.Errorf("a text elsewhere: got the place %#x, %q", out[3], got)
	}
	name := strings.TrimRight(string(bpftest.Bytes(out[6], out[7])), "\x00")
	if want := strings.TrimSpace(string(comm)); name != want {
		t.Errorf("got the name %q of the thread, want %q", name, want)
	}
	h := of(assembler.New(), &hook.Event{})
	if got := h.Pieces(fixed); len(got) != 3 || got[0] != (hook.Piece{Off: 40, Size: 4}) ||
		got[2] != (hook.Piece{Off: 46, Size: 1}) {
		t.Errorf("pieces of 7 bytes at 40: got %v, want 4, 2 and 1", got)
	}
	if got := h.Pieces(&event.Field{Kind: event.Str, Offset: 9, Size: 32}); got != nil {
		t.Errorf("many pieces: got %v, want none", got)
	}
	if got := hook.ArraySize(array, 16); got != 16 {
		t.Errorf("got %d bytes of the array, want 16", got)
	}
	bpftest.Refused(t, "a large array", func(*assembler.Code) { hook.ArraySize(array, 8) })
}

// An event is one, unless it stands for others.
func TestPeriod(t *testing.T) {
	period := func(e hook.Event) func(c *assembler.Code, dst asm.Register) {
		return func(c *assembler.Code, dst asm.Register) { of(c, &e).Period(dst) }
	}
	out, _ := reading(t, period(hook.Event{}), period(hook.Event{Period: 1}),
		period(hook.Event{Period: 1 << 40})).
		Context()
	if out[0] != 1 || out[1] != 1 || out[2] != 1<<40 {
		t.Errorf("got %d, want 1, 1, 1<<40", out)
	}
	bpftest.Refused(t, "an event that counts as many", func(c *assembler.Code) {
		of(c, &hook.Event{Schema: &event.Schema{System: "sched", Name: "sched_stat_runtime"}}).Period(asm.R1)
	})
}

// TestRawFields checks that arguments of raw tracepoints have the sizes and signs of their fields.
func TestRawFields(t *testing.T) {
	point := &hook.RawPoint{Name: "test", Fields: map[string]hook.RawField{
		"signed": {Arg: 1, Size: 4, Signed: true}, "small": {Arg: 2, Size: 2}, "whole": {Arg: 0, Size: 8}}}
	read := func(name string) func(c *assembler.Code, dst asm.Register) {
		return func(c *assembler.Code, dst asm.Register) {
			h := of(c, &hook.Event{})
			h.Raw = point
			h.RawField(dst, &event.Field{Name: name})
		}
	}
	out, _ := reading(t, read("whole"), read("signed"), read("small")).Context(1<<63, 0x1_ffff_fffe, 0x12345)
	if out[0] != 1<<63 || int64(out[1]) != -2 || out[2] != 0x2345 {
		t.Errorf("got %#x, want 1<<63, -2, 0x2345", out)
	}
}

// What an operand says of registers, shifted and added to a constant, is that.
func TestOperands(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		testkit.Requires(t, testkit.Optional("registers of amd64", unix.ENOTSUP))
	}
	// By the kernel's numbers: where they are in the context.
	const bx, r8 = 1, 16 // words 5 and 9
	read := func(o event.Operand) func(c *assembler.Code, dst asm.Register) {
		return func(c *assembler.Code, dst asm.Register) {
			h := of(c, &hook.Event{Probe: &hook.Probe{User: true}})
			h.Operand(dst, "arg", &o)
		}
	}
	p := reading(t, read(event.Operand{Value: 1 << 40}),
		read(event.Operand{Regs: []event.ScaledReg{{Reg: bx}}}),
		read(event.Operand{Value: -8, Regs: []event.ScaledReg{{Reg: bx}, {Reg: r8, Scale: 3}}}),
		read(event.Operand{Value: 1 << 40, Regs: []event.ScaledReg{{Reg: r8, Scale: 1}}}))
	out, _ := p.Context(0, 0, 0, 0, 0, 1000, 0, 0, 0, 5)
	if out[0] != 1<<40 || out[1] != 1000 || out[2] != 1032 || out[3] != 1<<40+10 {
		t.Errorf("got %d, want 1<<40, 1000, 1032, 1<<40 + 10", out)
	}
	for what, r := range map[string]uint8{"a segment": 12, "one that is not there": 200} {
		bpftest.Refused(t, what, func(c *assembler.Code) {
			of(c, &hook.Event{Probe: &hook.Probe{}}).Register(asm.R1, "arg", r)
		})
	}
	bpftest.Refused(t, "a register of a tracepoint", func(c *assembler.Code) {
		of(c, &hook.Event{}).Register(asm.R1, "arg", bx)
	})
}

// TestMembers checks that members of samples describe the running thread, which a target compares
// with itself.
func TestMembers(t *testing.T) {
	testkit.Requires(t, testkit.BTF, testkit.Programs)
	host, err := features.Find(kernel.Roots{}, false)
	testkit.Requires(t, testkit.Core("bpf", err))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	var may, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !may.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &may)
	member := func(name string, m event.Member, size int) *expr.Field {
		return &expr.Field{F: &event.Field{Name: name, Place: event.InMember, Member: m, Size: size,
			Signed: true}}
	}
	fields := []*expr.Field{member("pid", event.MemberPID, 4), member("tid", event.MemberTID, 4),
		member("cpu", event.MemberCPU, 4), member("prio", event.MemberPrio, 4),
		member("sched_policy", event.MemberSchedPolicy, 4)}
	program := func(target *load.Target, only []int) *bpftest.Program {
		b := bpftest.Builder{In: 8, Out: 8 * len(fields)}
		return b.OnStack(t, func(c *assembler.Code, _, out int16, exit assembler.Label) {
			h := of(c, &hook.Event{})
			h.Host = host
			m := hook.NewMembers(h)
			var nodes []expr.Node
			for _, f := range fields {
				nodes = append(nodes, f)
			}
			m.Foresee(nodes...)
			m.Check(target, only, exit)
			m.Fetch(nodes)
			for i, f := range fields {
				m.Read(asm.R1, f.F)
				c.Store(out+int16(8*i), asm.R1)
			}
		})
	}
	out, ok := program(&load.Target{}, nil).Context()
	want := []uint64{uint64(os.Getpid()), uint64(unix.Gettid()), uint64(cpu), uint64(120 + 20 - nice), 0}
	for i, f := range fields {
		if !ok || out[i] != want[i] {
			t.Errorf("%s: got %d, want %d", f.F.Name, out[i], want[i])
		}
	}
	for what, c := range map[string]struct {
		target *load.Target
		only   []int
		in     bool
	}{
		"this process":   {&load.Target{PIDs: []int{1, os.Getpid()}}, nil, true},
		"this thread":    {&load.Target{TIDs: []int{unix.Gettid()}}, nil, true},
		"another thread": {&load.Target{TIDs: []int{1}}, nil, false},
		"no such CPU":    {&load.Target{CPUs: []int{1 << 12}}, nil, false},
		"its CPU":        {&load.Target{CPUs: []int{cpu}}, nil, true},
		"of no CPU":      {&load.Target{CPUs: []int{cpu}}, []int{1 << 12}, false},
	} {
		if _, ok := program(c.target, c.only).Context(); ok != c.in {
			t.Errorf("%s: got %t, want %t", what, ok, c.in)
		}
	}
	bpftest.Refused(t, "a member that programs do not have", func(c *assembler.Code) {
		hook.NewMembers(of(c, &hook.Event{})).Read(asm.R1, &event.Field{Name: "weight",
			Member: event.MemberPrio})
	})
}

// TestPlain checks that plain is what compares numbers of the record.
func TestPlain(t *testing.T) {
	n := &expr.Field{F: &event.Field{Name: "id", Offset: 8, Size: 8}}
	binary := func(op expr.Op, x, y expr.Node) expr.Node {
		return &expr.Binary{Op: op, T: expr.TBool,
			X: x, Y: y}
	}
	equal := binary(expr.OpEq, n, expr.NewInt(1))
	for _, c := range []struct {
		node expr.Node
		want bool
	}{
		{equal, true}, {binary(expr.OpAndB, equal, equal), true}, {binary(expr.OpDivS, n, n), false},
		{binary(expr.OpEq, &expr.Field{F: n.F, Part: expr.Start}, n), false},
		{binary(expr.OpEq, &expr.Field{F: &event.Field{Name: "common_pid", Size: 4}}, n), false},
		{expr.NewStr("x"), false},
	} {
		if got := hook.Plain(c.node); got != c.want {
			t.Errorf("%s: got %t", c.node, got)
		}
	}
}

// The events of system calls that this kernel has are told by the numbers of their calls, no two by one.
func TestCallsAreKnown(t *testing.T) {
	testkit.Requires(t, testkit.Tracefs)
	entries, err := os.ReadDir("/sys/kernel/tracing/events/syscalls")
	testkit.Requires(t, testkit.Optional("tracepoints of system calls", err))
	calls := map[string]map[int64]string{}
	for _, e := range entries {
		of := hook.Event{Schema: &event.Schema{System: "syscalls", Name: e.Name()}}
		number, exit, ok := hook.CallOf(&of)
		if !ok {
			continue
		}
		prefix := "sys_enter_"
		if exit {
			prefix = "sys_exit_"
		}
		call, is := strings.CutPrefix(e.Name(), prefix)
		if calls[prefix] == nil {
			calls[prefix] = map[int64]string{}
		}
		if other := calls[prefix][number]; !is || other != "" {
			t.Errorf("%s: got %d, which is that of %q too", e.Name(), number, other)
		}
		calls[prefix][number] = call
	}
	for prefix, of := range calls {
		if len(of) < 250 || of[unix.SYS_GETPPID] != "getppid" || of[unix.SYS_UNAME] != "newuname" ||
			of[unix.SYS_UMOUNT2] != "umount" {
			t.Errorf("%s: got %d calls, %q, %q and %q", prefix, len(of), of[unix.SYS_GETPPID],
				of[unix.SYS_UNAME], of[unix.SYS_UMOUNT2])
		}
	}
	for _, other := range []hook.Event{{Schema: &event.Schema{System: "raw_syscalls", Name: "sys_enter"}},
		{Schema: &event.Schema{System: "syscalls", Name: "sys_enter_getppid"}, Sampled: true},
		{Schema: &event.Schema{System: "syscalls", Name: "sys_enter_no_such_call"}}} {
		if _, _, ok := hook.CallOf(&other); ok {
			t.Errorf("%s: got a system call", other.Schema.FullName())
		}
	}
}
