package session

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

// This file shows stacks in the lines of logs and in the cells of tables.

// eventStack returns the stack of an event. It is valid until the next call.
func (w *runStacks) eventStack(e *event.Event) result.CallStack {
	if e.Stream.Index >= len(w.show) || len(w.show[e.Stream.Index]) == 0 {
		return result.CallStack{}
	}
	frames, s := w.Frames(w.line[:0], stackIn(e, w.show[e.Stream.Index][0]))
	w.line = frames
	return result.CallStack{Frames: frames, Cut: s.Cut}
}

// moreStacks appends the additional stacks of a derived event, such as the
// stack of the start of a pair.
func (w *runStacks) moreStacks(dst []result.NamedStack, e *event.Event) []result.NamedStack {
	if e.Stream.Index >= len(w.show) || len(w.show[e.Stream.Index]) < 2 {
		return dst
	}
	for _, f := range w.show[e.Stream.Index][1:] {
		if id := stackIn(e, f); id != stack.None {
			frames, s := w.Frames(nil, id)
			dst = append(dst, result.NamedStack{Name: f.Name,
				CallStack: result.CallStack{Frames: frames, Cut: s.Cut}})
		}
	}
	return dst
}

func stackIn(e *event.Event, f *event.Field) stack.ID {
	if f.Place == event.InSlot {
		return stack.ID(e.Derived.Slots[f.Offset].Uint())
	}
	id, _ := e.Stream.Members.Member(e, event.MemberCallchain)
	return stack.ID(id)
}

// text makes columns of a table with numbers of stacks show functions. name
// converts frames to text.
func (w *runStacks) text(t *result.Table, name func(frames []*result.Frame) string) {
	if w == nil {
		return
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Type == result.StackNumbers && c.Text == nil {
			one := func(v event.Value) string {
				frames, _ := w.Frames(nil, stack.ID(v.Uint()))
				return name(frames)
			}
			c.Text = func(v event.Value) string {
				if v.Kind != event.ListValue {
					return one(v)
				}
				var parts []string
				for _, m := range v.List() {
					if pair := m.List(); len(pair) == 2 {
						parts = append(parts, pair[1].String()+" "+one(pair[0]))
					}
				}
				return strings.Join(parts, ", ")
			}
		}
	}
}

// registers appends the text of an event's field regs, the CPU's registers, if
// it has one.
func registers(dst []byte, e *event.Event) []byte {
	if e.Stream == nil || e.Kind != event.Sample {
		return dst
	}
	f, ok := e.Stream.Schema.Field("regs")
	if !ok || f.Place != event.InMember || f.Kind != event.Str {
		return dst
	}
	return append(dst, f.Text(e)...)
}
