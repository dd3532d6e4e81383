package native

import (
	"runtime"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/system/kernel"
)

// names are the functions that look up a name.
var names = []*Function{
	{
		Name: "syscall_name", C: []string{"syscall_name(number)"},
		Summary: "The name of a system call.",
		Params: []Param{
			{Name: "number", C: c.TLong, Doc: "its number, such as the id of raw_syscalls:sys_enter"},
		},
		Returns: Text,
		Result:  `the name, "" if the number has none`,
		Errors:  "none", Source: syscallSource, Cost: "one look-up",
		Examples: []Example{{Code: `syscall_name(syscall_number("read"))`, Output: `"read"`}},
		HostOnly: expr.NamesHere,
		Node: func(k *Call) (expr.Node, error) {
			find := func(nr int64) string { return kernel.SyscallName(runtime.GOARCH, nr) }
			if k.Services != nil && k.Services.SyscallName != nil {
				find = k.Services.SyscallName // for the recording's machine
			}
			return k.view("syscall_name", 0, find)
		},
	},
	{
		Name: "errno_name", C: []string{"errno_name(number)"},
		Summary: "The name of an error number.",
		Params: []Param{
			{Name: "number", C: c.TLong, Doc: "the result of a system call, such as -2, or the error number itself"},
		},
		Returns: Text,
		Result:  `the name, "" if the number has none`,
		Errors:  "none", Source: syscallSource, Cost: "one look-up",
		Examples: []Example{{Code: "errno_name(-2)", Output: `"ENOENT"`}},
		HostOnly: expr.NamesHere,
		Node: func(k *Call) (expr.Node, error) {
			return k.view("errno_name", 0, kernel.ErrnoName)
		},
	},
	{
		C: []string{"exit_reason_str(isa, code)"}, Returns: Text,
		Params:   []Param{{Name: "isa", C: c.TLong}, {Name: "code", C: c.TLong}},
		HostOnly: expr.NamesHere,
		Needs: Needs{func(s *expr.Services) bool { return s.ExitReason != nil },
			"the names of KVM exits are"},
		Node: func(k *Call) (expr.Node, error) {
			find := k.Services.ExitReason
			return k.native(expr.Native{Name: "exit_reason_str", T: expr.TStr,
				Str: func(_ *expr.Frame, a []expr.Arg) []byte { return expr.Bytes(find(a[0].I, a[1].I)) }})
		},
	},
	{
		Name: "ksym", C: []string{"ksym(address)", "ksymbol(address)"},
		Summary: "The kernel function at an address.",
		Params: []Param{
			{Name: "address", Kind: Address, C: c.TULong, Doc: "an address in the kernel, such as e.ip"},
			{Name: "offset", Kind: Flag, Doc: "with +OFFSET from the start of the function"},
		},
		Returns: Text,
		Result:  "the name; the address if no function is there",
		Errors:  "called outside per-event functions",
		Source:  "/proc/kallsyms; root, or kptr_restrict = 0",
		Cost:    "100 ns for each look-up; 20 MB once",
		Examples: []Example{{
			Code:   `tracepoint("kmem:kfree").by(where = lambda e: ksym(e.call_site)).count()`,
			Output: "<table of where, count>",
		}},
		HostOnly: expr.NamesHere,
		Needs:    Needs{func(s *expr.Services) bool { return s.Ksym != nil }, "kernel symbols are"},
		Node: func(k *Call) (expr.Node, error) {
			find := k.Services.Ksym
			if k.flag(1) && k.Services.KsymOffset != nil {
				find = k.Services.KsymOffset
			}
			return symbol(k, find)
		},
	},
	{
		C: []string{"ksymbol_offset(address)"}, Returns: Text,
		Params:   []Param{{Name: "address", Kind: Address, C: c.TULong}},
		HostOnly: expr.NamesHere,
		Needs:    Needs{func(s *expr.Services) bool { return s.KsymOffset != nil }, "kernel symbols are"},
		Node:     func(k *Call) (expr.Node, error) { return symbol(k, k.Services.KsymOffset) },
	},
	{
		Name: "comm", C: []string{"comm(tid)", "comm_get(tid)"},
		Summary: "The name of a thread.",
		Params:  []Param{{Name: "tid", C: c.TInt, Doc: "its id"}},
		Returns: Text,
		Result:  "the name that it has when the event is processed; <...> if it is not known",
		Errors:  "called outside per-event functions",
		Source:  "comm records of the run, else /proc",
		Cost:    "10 ns; 2 us for a thread seen first",
		Examples: []Example{{
			Code:   `tracepoint("sched:sched_waking").by(waker = "_comm", woken = lambda e: comm(e.pid)).count()`,
			Output: "<table of waker, woken, count>",
		}},
		HostOnly: expr.NamesHere,
		Needs:    Needs{func(s *expr.Services) bool { return s.Comm != nil }, "the names of threads are"},
		Node: func(k *Call) (expr.Node, error) {
			find := k.Services.Comm
			return k.view("comm_get", expr.ReadsNow, func(tid int64) string { return find(int32(tid)) })
		},
	},
	{
		// The thread belongs to the processes, threads or the command that the user named, or the user named
		// none. A plan that uses it is attached to CPUs: events about those threads are seen then although
		// other threads cause them.
		C:      []string{"traced(tid)"},
		Params: []Param{{Name: "tid", C: c.TInt}},
		Needs:  Needs{func(s *expr.Services) bool { return s.Traced != nil }, "threads to trace are"},
		Node: func(k *Call) (expr.Node, error) {
			traced := k.Services.Traced
			return k.native(expr.Native{Name: "traced", Traits: expr.AsksThreads | expr.ReadsNow,
				Kernel: expr.InTarget{}, T: expr.TBool,
				Int1: func(_ *expr.Frame, tid int64) int64 { return event.Bit(traced(int32(tid))) }})
		},
	},
}

const syscallSource = "the kernel's headers of this architecture, built in"

// symbol is the name of a function of the kernel.
func symbol(k *Call, find func(uint64) string) (expr.Node, error) {
	return k.view("ksymbol", 0, func(x int64) string { return find(uint64(x)) })
}
