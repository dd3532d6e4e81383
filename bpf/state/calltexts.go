package state

import (
	"slices"

	"ppscript/bpf/hook"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// A CallText is a text of the process that belongs to the start of pairs and is
// read when a pair ends.
type CallText struct {
	Event int       // the input whose text it is
	Call  bool      // it begins a system call
	Addr  expr.Node // its address, as an expression on the start's own event
	index int       // index among the texts of the input
}

// CallTexts lists the texts of the starts of a join.
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

// Count is the number of texts of a start, Most the largest number of any
// start.
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

// AnyCall is the field with the number of the system call, if the event begins all
// kinds of calls; else nil.
func AnyCall(s *event.Schema) *expr.Field {
	if f, ok := s.Field("id"); ok && s.FullName() == "raw_syscalls:sys_enter" {
		return &expr.Field{F: f}
	}
	return nil
}

// ResultOf is the field with the result of the system call that an event ends;
// nil for other events.
func ResultOf(s *event.Schema) *expr.Field {
	if f, ok := s.Field("ret"); ok && hook.EndsCall(s) {
		return &expr.Field{F: f}
	}
	return nil
}

// Executes reports that an event begins a call that executes another program.
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

// Reads lists what the program of an event must read for the texts of starts: their
// addresses, and the number and the result of a system call if the event has them.
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
