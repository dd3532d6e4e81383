package state

import (
	"slices"

	"ppscript/bpf/hook"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// A CallText is one of a start, that somebody reads of the pair.
type CallText struct {
	Event int       // the input whose text it is
	Call  bool      // it begins a system call
	Addr  expr.Node // where it is, as the start itself computes it
	index int       // among those of the input
}

// CallTexts are the texts of the calls of a join.
type CallTexts []CallText

// Of finds the text of a start at an address.
func (t CallTexts) Of(start int, addr expr.Node) (index int, ok bool) {
	for _, have := range t {
		if have.Event == start && have.Addr.String() == addr.String() {
			return have.index, true
		}
	}
	return 0, false
}

// Count is how many texts a start has, Most how many any has.
func (t CallTexts) Count(start int) (n int) {
	for _, have := range t {
		n += int(event.Bit(have.Event == start))
	}
	return n
}

func (t CallTexts) Most() (most int) {
	for _, have := range t {
		most = max(most, have.index+1)
	}
	return most
}

// AnyCall is the number of the call that an event begins, if it may be any; else nil.
func AnyCall(s *event.Schema) *expr.Field {
	if f, ok := s.Field("id"); ok && s.FullName() == "raw_syscalls:sys_enter" {
		return &expr.Field{F: f}
	}
	return nil
}

// ResultOf is the result of the call that an event ends; nil of others.
func ResultOf(s *event.Schema) *expr.Field {
	if f, ok := s.Field("ret"); ok && hook.EndsCall(s) {
		return &expr.Field{F: f}
	}
	return nil
}

// Executes reports that a call executes another program.
func Executes(s *event.Schema) bool {
	return s.Name == "sys_enter_execve" || s.Name == "sys_enter_execveat"
}

// Begins reports that a start begins a system call.
func (t CallTexts) Begins(start int) bool {
	return slices.ContainsFunc(t, func(t CallText) bool { return t.Event == start && t.Call })
}

// Add adds a text of a start, once.
func (t CallTexts) Add(start int, of *event.Schema, addr expr.Node) CallTexts {
	if _, have := t.Of(start, addr); have {
		return t
	}
	return append(t, CallText{Event: start, Call: hook.BeginsCall(of), Addr: addr, index: t.Count(start)})
}

// Reads are what the program of an event reads for the texts of starts: where they are, which
// call it is that begins, if it may be any, and how one ends.
func (t CallTexts) Reads(input int, of *event.Schema) (nodes []expr.Node) {
	for _, text := range t {
		if text.Event == input {
			nodes = append(nodes, text.Addr)
		}
	}
	if f := AnyCall(of); f != nil {
		nodes = append(nodes, f)
	}
	if f := ResultOf(of); f != nil {
		nodes = append(nodes, f)
	}
	return nodes
}
