package calltext

import (
	"slices"

	"ppscript/bpf/latetext"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// A Text is one of a start, that somebody reads of the pair.
type Text struct {
	Event int          // the input whose text it is
	Call  bool         // it begins a system call
	Read  *expr.Native // as the start itself reads it
	index int          // among those of the input
}

// Texts are those of a join.
type Texts []Text

// Of finds a text of a start.
func (t Texts) Of(start int, own *expr.Native) (index int, ok bool) {
	for _, have := range t {
		if have.Event == start && have.Read.Args[0].String() == own.Args[0].String() {
			return have.index, true
		}
	}
	return 0, false
}

// Count is how many texts a start has, Most how many any has.
func (t Texts) Count(start int) (n int) {
	for _, have := range t {
		n += int(event.Bit(have.Event == start))
	}
	return n
}

func (t Texts) Most() (most int) {
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
	if f, ok := s.Field("ret"); ok && Ends(s) {
		return &expr.Field{F: f}
	}
	return nil
}

// Executes reports that a call executes another program.
func Executes(s *event.Schema) bool {
	return s.Name == "sys_enter_execve" || s.Name == "sys_enter_execveat"
}

// Begins reports that a start begins a system call.
func (t Texts) Begins(start int) bool {
	return slices.ContainsFunc(t, func(t Text) bool { return t.Event == start && t.Call })
}

// Add adds a text of a start, once.
func (t Texts) Add(start int, of *event.Schema, own *expr.Native) Texts {
	if _, have := t.Of(start, own); have {
		return t
	}
	return append(t, Text{Event: start, Call: latetext.Begins(of), Read: own, index: t.Count(start)})
}

// Reads are what the program of an event reads for the texts of starts: where they are, which
// call it is that begins, if it may be any, and how one ends.
func (t Texts) Reads(input int, of *event.Schema) (nodes []expr.Node) {
	for _, text := range t {
		if text.Event == input {
			nodes = append(nodes, text.Read.Args[0])
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
