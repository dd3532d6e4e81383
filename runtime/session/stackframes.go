package session

import (
	"fmt"
	"strconv"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/render"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/symbol"
)

// This file names addresses: of whole stacks for results and logs, of single
// ones in the text of an event. Each distinct address is named once.

// place appends the symbol of an address of an event.
func (w *stackWorld) place(dst []byte, e *event.Event, ip uint64) []byte {
	if ip >= 1<<63 && w.foreign {
		return fmt.Appendf(dst, "%016x", ip)
	}
	f := w.symbols.Function(e.PID, e.TID, ip, e.Time)
	switch {
	case f.Symbol != symbol.Unknown:
		return strconv.AppendUint(append(append(dst, f.Symbol...), "+0x"...), f.Offset, 16)
	case f.DSO != "":
		return fmt.Appendf(dst, "%016x (%s)", ip, f.DSO)
	}
	return fmt.Appendf(dst, "%016x", ip)
}

// of is the frames of a stack, appended to dst, innermost first.
func (w *stackWorld) of(dst []*result.Frame, id stack.ID) (frames []*result.Frame, s stack.Stack) {
	if id == stack.Full {
		return append(dst, noRoom), s
	}
	s, ok := w.table.At(id)
	if !ok {
		return dst, s
	}
	stack.Each(s.Chain, func(addr uint64, in stack.Context, exact bool) {
		dst = append(dst, w.at(&s, addr, in, exact)...)
	})
	return dst, s
}

// prepare names the addresses of stacks that are about to be shown, where that is
// better done of all of them.
func (w *stackWorld) prepare(rows [][]event.Value) {
	if !w.lines {
		return
	}
	var list []symbol.Address
	known := map[frameKey]bool{}
	for _, row := range rows {
		s, ok := w.table.At(stack.ID(row[plan.StacksStack].Uint()))
		if !ok {
			continue
		}
		stack.Each(s.Chain, func(addr uint64, in stack.Context, exact bool) {
			key := frameKey{addr: addr, pid: s.PID, image: s.Image, exact: exact}
			if in != stack.User || known[key] {
				return
			}
			known[key] = true
			if _, ok := w.frames[key]; !ok {
				list = append(list, symbol.Address{PID: s.PID, Addr: addr, When: s.When, Call: !exact})
			}
		})
	}
	w.symbols.Prepare(list)
}

var noRoom = &result.Frame{Symbol: "[no room for the stack]"}

// at is the frames of one address.
func (w *stackWorld) at(s *stack.Stack, addr uint64, in stack.Context, exact bool) []*result.Frame {
	if in == stack.Named {
		return w.named.at(addr).frames
	}
	key := frameKey{addr: addr, pid: s.PID, image: s.Image, exact: exact}
	if in == stack.Kernel {
		key.pid, key.image = -1, 0
	}
	if f, ok := w.frames[key]; ok {
		return f
	}
	if len(w.frames) >= maxFrames {
		clear(w.frames)
		w.nameless = w.nameless[:0]
	}
	var list []*result.Frame
	switch {
	case in == stack.Kernel && w.foreign:
		w.world.sayOnce("kernel functions have no names: the recording is of another kernel than the one that runs here")
		list = []*result.Frame{{Addr: addr, DSO: symbol.KernelDSO, Kernel: true}}
	case in == stack.User && addr >= 1<<63:
		// Frame pointers led to something that is no address of a user's.
		list = []*result.Frame{{Addr: addr}}
	case in == stack.Kernel, in == stack.User:
		resolve := w.symbols.ResolveReturn
		if exact {
			resolve = w.symbols.Resolve
		}
		for _, f := range resolve(s.PID, s.PID, addr, s.When) {
			list = append(list, frameOf(addr, f))
		}
		if in == stack.Kernel && list[0].Symbol == "" {
			w.hidden()
		}
	default:
		list = []*result.Frame{{Addr: addr, DSO: "[" + in.String() + "]"}}
	}
	w.frames[key] = list
	if key.pid >= 0 && list[0].Symbol == "" {
		w.nameless = append(w.nameless, key)
	}
	return list
}

// hidden says why kernel functions have no names.
func (w *stackWorld) hidden() {
	if err := w.world.symbols.Err(); err != nil {
		text := "kernel functions have no names: " + err.Error()
		if hint := diag.HintOf(err); hint != "" {
			text += " (" + hint + ")"
		}
		w.world.sayOnce(text)
	}
}

func frameOf(addr uint64, f symbol.Frame) *result.Frame {
	out := &result.Frame{Addr: addr, Symbol: f.Symbol, Offset: f.Offset, DSO: f.DSO, BuildID: f.BuildID,
		File: f.File, Line: f.Line, Inline: f.Inline, Kernel: f.Kernel,
		FileAddr: f.FileAddr, Segment: result.Segment(f.Segment)}
	if f.Symbol == symbol.Unknown {
		out.Symbol = ""
	}
	return out
}

// eventStack is the frames of an event's stack, valid until the next call.
func (w *stackWorld) eventStack(e *event.Event) ([]*result.Frame, bool) {
	if e.Stream.Index >= len(w.show) || len(w.show[e.Stream.Index]) == 0 {
		return nil, false
	}
	frames, s := w.of(w.line[:0], stackIn(e, w.show[e.Stream.Index][0]))
	w.line = frames
	return frames, s.Cut
}

// moreStacks are the other stacks of an event that was made here.
func (w *stackWorld) moreStacks(dst []render.NamedStack, e *event.Event) []render.NamedStack {
	if e.Stream.Index >= len(w.show) || len(w.show[e.Stream.Index]) < 2 {
		return dst
	}
	for _, f := range w.show[e.Stream.Index][1:] {
		if id := stackIn(e, f); id != stack.None {
			frames, s := w.of(nil, id)
			dst = append(dst, render.NamedStack{Name: f.Name, Frames: frames, Cut: s.Cut})
		}
	}
	return dst
}

func stackIn(e *event.Event, f *event.Field) stack.ID {
	if f.Place == event.InSlot {
		return stack.ID(e.Joint.Slots[f.Offset].Uint())
	}
	id, _ := e.Stream.Members.Member(e, event.FactCallchain)
	return stack.ID(id)
}

// text names the stacks in a table's cells.
func (w *stackWorld) text(t *result.Table, name func(frames []*result.Frame) string) {
	if w == nil {
		return
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Stack && c.Text == nil {
			one := func(v event.Value) string {
				frames, _ := w.of(nil, stack.ID(v.Uint()))
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

// registers is the block of an event that has a field of that kind.
func registers(dst []byte, e *event.Event) []byte {
	if e.Stream == nil || e.Kind != event.Sample {
		return dst
	}
	f, ok := e.Stream.Schema.Field("regs")
	if !ok || f.Place != event.InFact || f.Kind != event.Str {
		return dst
	}
	return append(dst, f.Text(e)...)
}
