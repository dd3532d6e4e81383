package bpf

import (
	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/state"
	"ppscript/bpf/text"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file says how much room texts need, and which fields lie on the stack. It
// generates nothing, so that layouts are settled with it before any program is
// made.

// An env is what an expression is about, beside the event of the program: a
// pair, the state of a fold, or an event that a fold emits. The zero env is that
// of the event alone.
type env struct {
	pair *pairEnv
	fold *foldEnv
	out  *emitEnv
}

// room is how many bytes n needs, a multiple of 8.
func (v env) room(n expr.Node) int {
	switch n := n.(type) {
	case *expr.Const:
		return text.Pad(len(n.Str) + 1)
	case *expr.Field:
		return v.fieldRoom(n)
	case *expr.LoadState:
		if v.fold != nil && n.T.Kind == expr.Str {
			return v.fold.fold.rooms[n.Slot]
		}
	case *expr.KernelText:
		return text.Pad(n.Size + 1)
	case *expr.Native:
		if d := eval.DictOf(n); d != nil {
			return eval.DictRoom(d)
		}
		if v.isUserText(n) {
			return userRoom
		}
	default:
		if room := eval.MadeRoom(n, v.room); room > 0 {
			return room
		}
	}
	refuse("%s has no code for the kernel", n)
	return 0
}

// fieldRoom is room for a field: all of a fixed one and its NUL.
func (v env) fieldRoom(n *expr.Field) int {
	if in, own, ok := v.ofEnd(n); ok {
		return in.fieldRoom(own)
	}
	if _, ok := v.keptField(n); ok {
		return userRoom
	}
	if room, ok := v.ofStart(n); ok {
		return room
	}
	f := n.F
	switch {
	case n.View != expr.ViewValue || f.Kind != event.Str:
		refuse("field %s is not a text", f.Name)
	case f.Place == event.InMember && f.Member == event.MemberComm:
		return 16
	case f.Read != nil:
		return v.room(expr.ReadOf(f))
	case f.Place == event.InMember && f.Member.OfProbe():
		return hook.ArgumentRoom(f)
	case v.out != nil && f.Place == event.InSlot:
		_, size := v.slot(n)
		return size
	case f.Place == event.InSlot && v.isKey(n) && len(v.pair.join.cols) == 1:
		return v.pair.join.keyRoom
	case f.Place == event.InRaw && f.Size > 0 && f.Size < maxText:
		return text.Pad(f.Size + 1)
	case f.Place == event.DataLoc, f.Place == event.RelLoc:
		return maxText
	}
	refuse("field %s is not a text that a program can read", f.Name)
	return 0
}

// isUserText reports that n is a text of the process, which this program can
// read: of the start of a pair it is one that was kept.
func (v env) isUserText(n *expr.Native) bool {
	if !n.Is(expr.ReadsProcess) {
		return false
	}
	if _, ok := v.kept(n); ok {
		return true
	}
	if p := expr.UserTextPart(n); p != expr.Self && p != expr.End || v.pair != nil && p != expr.End {
		refuse("%s is of a moment that has passed", n)
	}
	return true
}

// copied reports that a text is copied from the record when it is evaluated.
func (v env) copied(n expr.Node) bool {
	f, ok := n.(*expr.Field)
	if !ok {
		return false
	}
	if _, kept := v.keptField(f); kept {
		return false
	}
	at, _ := v.saved(f)
	return at == 0 && f.F.Place != event.InMember && f.F.Place != event.InSlot
}

// isKey reports that n is the key of the pair.
func (v env) isKey(n *expr.Field) bool {
	return v.pair != nil && n.Part == expr.Self && n.F.Place == event.InSlot && n.F.Name == "key" &&
		n.F.Offset == 0
}

// called returns the place of what a nested pair has beside its delay and key; 0 if n is
// not that.
func (v env) called(n *expr.Field) int16 {
	if v.pair == nil || n.Part != expr.Self || n.F.Place != event.InSlot || n.F.Offset >= len(v.pair.call) {
		return 0
	}
	return v.pair.call[n.F.Offset]
}

// saved returns where a field of the pair's start is, and how many bytes; 0 if
// it is not one of those.
func (v env) saved(n *expr.Field) (at int16, size int) {
	if f, i := v.waits(n); f != nil {
		return v.pair.fields[i], f.Size
	}
	return 0, 0
}

// waits finds what waits with the start as a field of it; nil if it is not one of those.
func (v env) waits(n *expr.Field) (f *state.Field, index int) {
	if v.pair == nil {
		return nil, 0
	}
	rest, start := n.Part.From(expr.Start)
	if !start {
		return nil, 0
	}
	name := state.FieldName(&expr.Field{F: n.F, Part: rest, View: n.View})
	if i := v.pair.join.waits.At(v.pair.start, name); i >= 0 {
		return &v.pair.join.waits.Fields[i], i
	}
	panic("BUG: field " + n.F.Name + " of the start was not foreseen")
}

// slot returns the place of a field of an emitted event, and its bytes; 0 if
// it is not one of those.
func (v env) slot(n *expr.Field) (at int16, size int) {
	if v.out == nil || n.F.Place != event.InSlot || n.Part != expr.Self {
		return 0, 0
	}
	if n.F.Offset >= len(v.out.sizes) {
		refuse("the stack of what a fold emits")
	}
	if v.out.places == nil {
		return -8, v.out.sizes[n.F.Offset] // while layouts are settled
	}
	return v.out.places[n.F.Offset], v.out.sizes[n.F.Offset]
}

func (v env) stateAt() int16 {
	if v.fold == nil {
		refuse("the state of a fold outside of its functions")
	}
	return v.fold.state
}
