package help

import (
	"fmt"
	"strings"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/event"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/system/kerneltype"
)

// This file writes the parts of an event's help that come from the kernel's types
// (BTF): the structures that its fields point to, and the arguments of a
// function.

// shownMembers is the maximum number of members of a structure that are listed.
const shownMembers = 12

// explainPointers lists the members of the structures that fields of an event
// point to.
func explainPointers(w *strings.Builder, l console.Layout, types *kerneltype.Types, s *event.Schema) {
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Kind != event.Int || !strings.HasSuffix(f.Type, "*") {
			continue
		}
		if t, err := types.Named(f.Type); err == nil {
			explainPointer(w, l, f.Name, t)
		}
	}
}

// explainArguments lists the arguments of a tracepoint that trace_arg can read.
func explainArguments(w *strings.Builder, l console.Layout, types *kerneltype.Types, event string) {
	args, ok := types.Tracepoint(event)
	if !ok || len(args) == 0 {
		return
	}
	var list []string
	for _, a := range args {
		list = append(list, a.Name+" ("+a.Type.String()+")")
	}
	w.WriteString("\n")
	console.TwoColumns(w, "    trace_arg", strings.Join(list, ", "), 20, l.Width)
}

// explainPointer lists the members of the structure that a value points to, if
// there are any.
func explainPointer(w *strings.Builder, l console.Layout, name string, t kerneltype.Type) {
	to := t.Elem()
	members := to.Members()
	if len(members) == 0 {
		return
	}
	var list []string
	for _, m := range members[:min(len(members), shownMembers)] {
		if at, err := to.Member(m); err == nil {
			list = append(list, m+" ("+at.Type.String()+")")
		}
	}
	text := to.String() + ": " + strings.Join(list, ", ")
	if more := len(members) - len(list); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	w.WriteString("\n")
	console.TwoColumns(w, "    "+name, text, 20, l.Width)
}

// explainFunction writes the arguments, or the result, of the kernel function of a
// probe; false if the kernel's types lack the function.
func explainFunction(con *console.Console, w *strings.Builder, types *kerneltype.Types,
	p *probe.Spec) bool {
	fn, ok := types.Function(p.Name[strings.IndexByte(p.Name, ':')+1:])
	if !ok {
		return false
	}
	rows := [][2]string{{"argument", "type"}}
	for _, a := range fn.Params {
		rows = append(rows, [2]string{a.Name, a.Type.String()})
	}
	if p.Kind == probe.Kretprobe {
		rows = [][2]string{{"field", "type"}, {"result", fn.Result.String()}}
	}
	wide := 0
	for _, r := range rows {
		wide = max(wide, len(r[0]))
	}
	fmt.Fprintf(w, "%s\n\n", con.Title(p.String()))
	for _, r := range rows {
		fmt.Fprintf(w, "    %-*s  %s\n", wide, r[0], r[1])
	}
	if p.Kind == probe.Kprobe {
		for _, a := range fn.Params {
			explainPointer(w, con.Layout(true), a.Name, a.Type)
		}
	}
	w.WriteString("\n")
	return true
}
