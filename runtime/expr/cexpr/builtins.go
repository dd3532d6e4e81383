package cexpr

import (
	"bytes"
	"sort"
	"strings"
	"sync"

	"ppscript/runtime/expr"
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
		expr.UserText:     {"user_string(address)", 1, 2, lowerUserText},
	}
	addPrintHelpers(m)
	addKernel(m)
	return m
}

// A Builtin lowers calls of one name. It gets the syntax trees of the
// arguments through the Call, and makes any node, usually a Native.
type Builtin struct {
	// Usage is shown when a call has the wrong number of arguments:
	// "strncmp(a, b, n)".
	Usage string
	// Min and Max bound the number of arguments; Max < 0 is no bound.
	Min, Max int
	// Lower makes the node. The C type of the result is int for a bool,
	// char * for a Str, long or unsigned long for an Int, unless it calls
	// Call.As.
	Lower func(call *Call) (expr.Node, error)
}

// functions are those that an expression can call: its own hide the standard ones.
type functions struct{ own, standard map[string]Builtin }

// find finds a function: its own, then the standard ones.
func (f functions) find(name string) (Builtin, bool) {
	if b, ok := f.own[name]; ok {
		return b, true
	}
	b, ok := f.standard[name]
	return b, ok
}

// names lists the names that can be called, sorted.
func (f functions) names() []string {
	var names []string
	for n := range f.own {
		names = append(names, n)
	}
	for n := range f.standard {
		if _, hidden := f.own[n]; !hidden {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	return names
}

// forUsers lists those that a user may want to call.
func (f functions) forUsers() string {
	var keep []string
	for _, n := range f.names() {
		if !strings.HasPrefix(n, "__") {
			keep = append(keep, n)
		}
	}
	return joinNames(keep)
}

func missing(k *Call, what string) error {
	return k.Errorf(-1, "%s not available here", what)
}

func lowerKsymbol(k *Call) (expr.Node, error) { return lowerKsym(k, k.l.sc.Services.Ksym) }

func lowerKsymbolOffset(k *Call) (expr.Node, error) { return lowerKsym(k, k.l.sc.Services.KsymOffset) }

func lowerKsym(k *Call, fn func(uint64) string) (expr.Node, error) {
	if fn == nil {
		return nil, missing(k, "kernel symbols are")
	}
	x, err := k.IntAs(0, c.TULong)
	if err != nil {
		return nil, err
	}
	return expr.NewKsymbol(x, fn)
}

func lowerComm(k *Call) (expr.Node, error) {
	fn := k.l.sc.Services.Comm
	if fn == nil {
		return nil, missing(k, "the names of threads are")
	}
	x, err := k.IntAs(0, c.TInt)
	if err != nil {
		return nil, err
	}
	return expr.NewCommOf(x, fn)
}

// lowerTraced is traced(tid): the thread is of the processes, threads or the
// command that the user named, or nobody was named. A plan that uses it is
// attached to CPUs, so that events about those threads are seen whoever makes
// them.
func lowerTraced(k *Call) (expr.Node, error) {
	fn := k.l.sc.Services.Traced
	if fn == nil {
		return nil, missing(k, "threads to trace are")
	}
	x, err := k.IntAs(0, c.TInt)
	if err != nil {
		return nil, err
	}
	return expr.NewNative(expr.Native{Name: "traced",
		Traits: expr.AsksThreads | expr.ReadsNow | expr.HasProgram,
		T:      expr.TBool, Args: []expr.Node{x},
		Int1: func(_ *expr.Frame, x int64) int64 {
			if fn(int32(x)) {
				return 1
			}
			return 0
		}})
}

func lowerSyscall(k *Call) (expr.Node, error) {
	fn := k.l.sc.Services.SyscallName
	if fn == nil {
		return nil, missing(k, "the names of system calls are")
	}
	x, err := k.IntAs(0, c.TLong)
	if err != nil {
		return nil, err
	}
	return expr.NewSyscallName(x, fn)
}

func lowerExitReason(k *Call) (expr.Node, error) {
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
	return expr.NewExitReason(isa, code, fn)
}

// swapBytes is ntohl (4 bytes) or ntohs (2), and back: everything here is
// little-endian.
func swapBytes(size int) func(*Call) (expr.Node, error) {
	return func(k *Call) (expr.Node, error) {
		x, err := k.IntAs(0, c.Basic(size, true))
		if err != nil {
			return nil, err
		}
		k.As(c.Basic(size, true))
		n, err := expr.NewSwapped(x, size, expr.TUint)
		if err != nil {
			return nil, err
		}
		return expr.Fold(n), nil
	}
}

// lowerStrncmp is strncmp, or strcmp with two arguments: -1, 0 or 1.
func lowerStrncmp(k *Call) (expr.Node, error) {
	a, err := k.Str(0)
	if err != nil {
		return nil, err
	}
	b, err := k.Str(1)
	if err != nil {
		return nil, err
	}
	n := expr.NewUint(1<<64 - 1)
	if len(k.Args) == 3 {
		if n, err = k.IntAs(2, c.TULong); err != nil {
			return nil, err
		}
	}
	k.As(c.TInt)
	return expr.NewNative(expr.Native{Name: "strncmp", T: expr.TInt, Args: []expr.Node{a, b, n},
		Int: func(_ *expr.Frame, a []expr.Arg) int64 {
			x, y, n := expr.Trim(a[0].S), expr.Trim(a[1].S), uint64(a[2].I)
			if uint64(len(x)) > n {
				x = x[:n]
			}
			if uint64(len(y)) > n {
				y = y[:n]
			}
			return int64(bytes.Compare(x, y))
		}})
}

func lowerStrlen(k *Call) (expr.Node, error) {
	s, err := k.Str(0)
	if err != nil {
		return nil, err
	}
	n, err := expr.NewUnary(expr.OpStrLen, s)
	k.As(c.TULong)
	return n, err
}
