package expr

import (
	"bytes"
	"sort"
	"strings"
	"sync"

	"ppscript/runtime/expr/c"
)

// standard is the functions of every scope: perf-prof's, and the helpers of
// print fmts (those start with two underscores). It is not changed once made.
var standard = sync.OnceValue(makeStandard)

func makeStandard() map[string]Builtin {
	m := map[string]Builtin{
		"printf":          {"printf(format, ...)", 1, -1, lowerPrintf},
		"system":          {"system(format, ...)", 1, -1, lowerSystem},
		"ksymbol":         {"ksymbol(address)", 1, 1, lowerKsymbol},
		"ksymbol_offset":  {"ksymbol_offset(address)", 1, 1, lowerKsymbolOffset},
		"comm_get":        {"comm_get(tid)", 1, 1, lowerComm},
		"traced":          {"traced(tid)", 1, 1, lowerTraced},
		"syscall_name":    {"syscall_name(number)", 1, 1, lowerSyscall},
		"exit_reason_str": {"exit_reason_str(isa, code)", 2, 2, lowerExitReason},
		"symbolic":        {"symbolic(field)", 1, 1, lowerNameOf},
		"ntohl":           {"ntohl(x)", 1, 1, swapBytes(4)},
		"htonl":           {"htonl(x)", 1, 1, swapBytes(4)},
		"ntohs":           {"ntohs(x)", 1, 1, swapBytes(2)},
		"htons":           {"htons(x)", 1, 1, swapBytes(2)},
		"strncmp":         {"strncmp(a, b, n)", 3, 3, lowerStrncmp},
		"strcmp":          {"strcmp(a, b)", 2, 2, lowerStrncmp},
		"strlen":          {"strlen(s)", 1, 1, lowerStrlen},
		UserText:          {"user_string(address)", 1, 2, lowerUserText},
	}
	addPrintHelpers(m)
	return m
}

// allFunctions lists the names that can be called, sorted.
func (l *lowerer) allFunctions() []string {
	var names []string
	for n := range l.sc.Builtins {
		names = append(names, n)
	}
	for n := range l.standard {
		if _, hidden := l.sc.Builtins[n]; !hidden {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	return names
}

// userFunctions is those that a user may want to call.
func (l *lowerer) userFunctions() string {
	var keep []string
	for _, n := range l.allFunctions() {
		if !strings.HasPrefix(n, "__") {
			keep = append(keep, n)
		}
	}
	return joinNames(keep)
}

func missing(k *Call, what string) error {
	return k.Errorf(-1, "%s not available here", what)
}

func lowerKsymbol(k *Call) (Node, error) { return lowerKsym(k, k.l.sc.Services.Ksym) }

func lowerKsymbolOffset(k *Call) (Node, error) { return lowerKsym(k, k.l.sc.Services.KsymOffset) }

func lowerKsym(k *Call, fn func(uint64) string) (Node, error) {
	if fn == nil {
		return nil, missing(k, "kernel symbols are")
	}
	x, err := k.IntAs(0, c.TULong)
	if err != nil {
		return nil, err
	}
	return NewKsymbol(x, fn)
}

func lowerComm(k *Call) (Node, error) {
	fn := k.l.sc.Services.Comm
	if fn == nil {
		return nil, missing(k, "the names of threads are")
	}
	x, err := k.IntAs(0, c.TInt)
	if err != nil {
		return nil, err
	}
	return NewCommOf(x, fn)
}

// lowerTraced is traced(tid): the thread is of the processes, threads or the
// command that the user named, or nobody was named. A plan that uses it is
// attached to CPUs, so that events about those threads are seen whoever makes
// them.
func lowerTraced(k *Call) (Node, error) {
	fn := k.l.sc.Services.Traced
	if fn == nil {
		return nil, missing(k, "threads to trace are")
	}
	x, err := k.IntAs(0, c.TInt)
	if err != nil {
		return nil, err
	}
	return NewNative(Native{Name: "traced", Traits: AsksThreads | ReadsNow | HasProgram,
		T: TBool, Args: []Node{x},
		Int1: func(_ *Frame, x int64) int64 {
			if fn(int32(x)) {
				return 1
			}
			return 0
		}})
}

func lowerSyscall(k *Call) (Node, error) {
	fn := k.l.sc.Services.SyscallName
	if fn == nil {
		return nil, missing(k, "the names of system calls are")
	}
	x, err := k.IntAs(0, c.TLong)
	if err != nil {
		return nil, err
	}
	return NewSyscallName(x, fn)
}

func lowerExitReason(k *Call) (Node, error) {
	fn := k.l.sc.Services.ExitReason
	if fn == nil {
		return nil, missing(k, "the names of KVM exits are")
	}
	isa, err := k.IntAs(0, c.TLong)
	if err != nil {
		return nil, err
	}
	code, err := k.IntAs(1, c.TLong)
	if err != nil {
		return nil, err
	}
	return NewNative(Native{Name: "exit_reason_str", T: TStr, Args: []Node{isa, code},
		Str: func(_ *Frame, a []Arg) []byte { return view(fn(a[0].I, a[1].I)) }})
}

// swapBytes is ntohl (4 bytes) or ntohs (2), and back: everything here is
// little-endian.
func swapBytes(size int) func(*Call) (Node, error) {
	return func(k *Call) (Node, error) {
		x, err := k.IntAs(0, c.Basic(size, true))
		if err != nil {
			return nil, err
		}
		k.As(c.Basic(size, true))
		n, err := NewSwapped(x, size, TUint)
		if err != nil {
			return nil, err
		}
		return fold(n), nil
	}
}

// lowerStrncmp is strncmp, or strcmp with two arguments: -1, 0 or 1.
func lowerStrncmp(k *Call) (Node, error) {
	a, err := k.Str(0)
	if err != nil {
		return nil, err
	}
	b, err := k.Str(1)
	if err != nil {
		return nil, err
	}
	n := NewUint(1<<64 - 1)
	if len(k.Args) == 3 {
		if n, err = k.IntAs(2, c.TULong); err != nil {
			return nil, err
		}
	}
	k.As(c.TInt)
	return NewNative(Native{Name: "strncmp", T: TInt, Args: []Node{a, b, n},
		Int: func(_ *Frame, a []Arg) int64 {
			x, y, n := trim(a[0].S), trim(a[1].S), uint64(a[2].I)
			if uint64(len(x)) > n {
				x = x[:n]
			}
			if uint64(len(y)) > n {
				y = y[:n]
			}
			return int64(bytes.Compare(x, y))
		}})
}

func lowerStrlen(k *Call) (Node, error) {
	s, err := k.Str(0)
	if err != nil {
		return nil, err
	}
	n, err := NewUnary(OpStrLen, s)
	k.As(c.TULong)
	return n, err
}
