package frontend

import (
	"errors"

	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file handles loops over lists of the kernel:
//
//	for t in list_entries(task().children, "struct task_struct", "sibling", 8):

// KernelList makes the entries of a call: head is the first argument, of are the type and the member, most is
// the number of entries.
type KernelList = func(k *expr.Kernel, head *expr.KernelData, of []string, most int) (
	*expr.KernelList, error)

// errListArgs is the error for wrong arguments of a KernelList.
var errListArgs = errors.New(
	"want the head of a list, and as constants the type of its entries, their member and how many")

// errListLoop is the error for such a call elsewhere.
var errListLoop = errors.New("the entries of a list are only for a loop: for t in list_entries(...)")

// listMaker returns the KernelList of f; nil if f has none.
func listMaker(h *script.Host, f starlark.Value) KernelList {
	if f, ok := f.(starlark.Callable); ok {
		if n := nativeOf(h, f); n != nil {
			return n.List
		}
	}
	return nil
}

// listCall returns the call of a function that returns a list of the kernel; make is nil if e is none.
func (s *scopeOf) listCall(e syntax.Expr) (call *syntax.CallExpr, make KernelList) {
	call, ok := script.Unparen(e).(*syntax.CallExpr)
	if !ok {
		return nil, nil
	}
	if _, method := call.Fn.(*syntax.DotExpr); method {
		return nil, nil
	}
	return call, listMaker(s.host, s.expr(call.Fn).c)
}

// kernelList lowers the call.
func (s *scopeOf) kernelList(e *syntax.CallExpr, make KernelList) *expr.KernelList {
	k := s.sc.Services.Kernel
	if k == nil {
		s.refuse(e.Lparen, "%v", errNoMemory)
	}
	var head *expr.KernelData
	var constants []starlark.Value
	for i, x := range e.Args {
		if v := s.place(x); i == 0 {
			head = s.kernelOf(e.Lparen, v)
		} else {
			constants = append(constants, v.c)
		}
	}
	names, most, ok := listConstants(constants)
	if head == nil || !ok {
		s.must(e.Lparen, errListArgs)
	}
	list, err := make(k, head, names, most)
	s.must(e.Lparen, err)
	return list
}

// listConstants reads the arguments behind the head.
func listConstants(args []starlark.Value) (names []string, most int, ok bool) {
	if len(args) != 3 {
		return nil, 0, false
	}
	for _, v := range args[:2] {
		text, is := v.(starlark.String)
		if !is {
			return nil, 0, false
		}
		names = append(names, string(text))
	}
	n, is := args[2].(starlark.Int)
	if !is {
		return nil, 0, false
	}
	i, small := n.Int64()
	return names, int(min(max(i, 0), expr.MostEntries+1)), small
}

// listCall returns the call of a function that returns a list of the kernel; make is nil if e is none.
func (s *scan) listCall(e syntax.Expr) (call *syntax.CallExpr, make KernelList) {
	call, ok := script.Unparen(e).(*syntax.CallExpr)
	if !ok {
		return nil, nil
	}
	if _, method := call.Fn.(*syntax.DotExpr); method {
		return nil, nil
	}
	return call, listMaker(s.m.host, s.value(call.Fn).c)
}

// kernelList returns the role of an entry.
func (s *scan) kernelList(e *syntax.CallExpr, make KernelList) role {
	var head *expr.KernelData
	var constants []starlark.Value
	for i, x := range e.Args {
		if r := s.expr(x); i == 0 {
			head = s.dataOf(x, r)
		} else {
			constants = append(constants, r.c)
		}
	}
	k := s.kernel()
	if k == nil {
		return role{}
	}
	names, most, ok := listConstants(constants)
	if head == nil || !ok {
		s.wrong(e, errListArgs)
		return role{}
	}
	list, err := make(k, head, names, most)
	if err != nil {
		s.wrong(e, err)
		return role{}
	}
	return s.dataRole(list.Entries[0])
}
