package eval

import (
	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file computes how much room texts need, and finds fields that are on the
// stack. It generates nothing, so that layouts can be settled before any program
// is generated.

// An Env describes what an expression can read beside the event of the program:
// a pair, the state of a fold, or an event that a fold emits. The zero Env has
// the event alone.
type Env struct {
	Pair *Pair
	Fold *FoldState
	Out  *EmitScope
}

// A Join is the layout of a join: its keys, and the fields and texts of its
// waiting events.
type Join struct {
	Index   int
	Cols    []load.Column // of the key
	KeyRoom int           // bytes
	Waits   state.Waiting
	Texts   state.CallTexts
	// Late marks the starts, by input, whose preemption count is read when their pairs are sent.
	Late map[int]bool
}

// A Fold is the layout of a fold: its keys, and the values of its states.
type Fold struct {
	Index  int
	Cols   []load.Column // of the key
	KeyLen int
	Init   []int64 // the numbers of a new state
	Texts  []int   // by slot: offset of a text in the state; Rooms has the bytes of each
	Rooms  []int
	// Asks holds the other folds whose states the functions of this fold read,
	// by the name that expressions use.
	Asks map[any]*Fold
}

// SlotsAt is the offset of the first number of a state.
const SlotsAt = 24

// Slot is the offset of a number of the state.
func (f *Fold) Slot(i int) int16 { return SlotsAt + int16(8*i) }

// A Pair is the environment of expressions on a pair. Delay, Key and Now are
// places.
type Pair struct {
	Join   *Join
	Start  int     // the input that begins it
	End    Env     // environment of the end, if that is a derived event
	Fields []int16 // places of Join.Waits.Fields
	Delay  int16
	Key    int16
	Now    int16   // the time of the end
	Call   []int16 // by slot: places of the values that only nested pairs have
	Later  func()  // copies the fields that only a record of the pair has; nil if they are there
}

// A FoldState is the state that the functions of a fold work on.
type FoldState struct {
	Fold  *Fold
	State int16 // place of the state's address
	Stack int16 // of the number of the event's stack; 0 if not known
}

// EmitScope is the environment of expressions on an emitted event, or on the event of a flush
// function.
type EmitScope struct {
	Fold   *Fold
	Sizes  []int // by value, in bytes
	Places []int16
	Key    int16 // of the state
	State  int16 // place of its address
	Stack  int16 // of the number of the event's stack; 0 if none
}

// Room is the number of bytes that the text n needs, a multiple of 8.
func (v Env) Room(n expr.Node) int {
	switch n := n.(type) {
	case *expr.Const:
		return Pad(len(n.Str) + 1)
	case *expr.Field:
		return v.FieldRoom(n)
	case *expr.LoadState:
		if v.Fold != nil && n.T.Kind == expr.Str {
			return v.Fold.Fold.Rooms[n.Slot]
		}
	case *expr.KernelText:
		return Pad(n.Size + 1)
	case *expr.ProcessArea:
		return Pad(n.Size + 1)
	case *expr.KernelPath:
		return pathRoom
	case *expr.Native:
		switch k := n.Kernel.(type) {
		case *expr.Dict:
			return dictRoom(k)
		case expr.ProcessText:
			v.checkProcess(n)
			return assembler.UserRoom
		}
		refuseNative(n)
	default:
		if room := v.madeRoom(n); room > 0 {
			return room
		}
	}
	assembler.Refuse("%s has no code for the kernel", n)
	return 0
}

// FieldRoom is the number of bytes that a text field needs, its NUL included.
func (v Env) FieldRoom(n *expr.Field) int {
	if in, own, ok := v.ofEnd(n); ok {
		return in.FieldRoom(own)
	}
	if _, ok := v.keptField(n); ok {
		return assembler.UserRoom
	}
	if room, ok := v.ofStart(n); ok {
		return room
	}
	f := n.F
	switch {
	case f.Kind == event.Array:
		assembler.Refuse("field %s is an array: programs have these of an event itself, as keys, and in no "+
			"pair, fold or value of an aggregator", f.Name)
	case n.View != expr.ViewValue || f.Kind != event.Str:
		assembler.Refuse("field %s is not a text", f.Name)
	case f.Place == event.InMember && f.Member == event.MemberComm:
		return 16
	case f.Read != nil:
		return v.Room(expr.ReadOf(f))
	case f.Place == event.InMember && f.Member.OfProbe():
		return hook.ArgumentRoom(f)
	case v.Out != nil && f.Place == event.InSlot:
		_, size := v.slot(n)
		return size
	case f.Place == event.InSlot && v.isKey(n) && len(v.Pair.Join.Cols) == 1:
		return v.Pair.Join.KeyRoom
	case f.Place == event.InRaw && f.Size > 0 && f.Size < maxText:
		return Pad(f.Size + 1)
	case f.Place == event.DataLoc, f.Place == event.RelLoc:
		return maxText
	}
	assembler.Refuse("field %s is not a text that a program can read", f.Name)
	return 0
}

// checkProcess refuses a text of the process that this program cannot read: a text of
// the start of a pair must have been kept when the pair began.
func (v Env) checkProcess(n *expr.Native) {
	if _, ok := v.keptText(n); ok {
		return
	}
	if p := expr.UserTextPart(n); p != expr.Self && p != expr.End || v.Pair != nil && p != expr.End {
		assembler.Refuse("%s is of a moment that has passed", n)
	}
}

// copied reports that a text is copied from the record when it is evaluated.
func (v Env) copied(n expr.Node) bool {
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
func (v Env) isKey(n *expr.Field) bool {
	return v.Pair != nil && n.Part == expr.Self && n.F.Place == event.InSlot && n.F.Name == "key" &&
		n.F.Offset == 0
}

// called returns the place of a value that only nested pairs have; 0 if n is no such
// field.
func (v Env) called(n *expr.Field) int16 {
	if v.Pair == nil || n.Part != expr.Self || n.F.Place != event.InSlot || n.F.Offset >= len(v.Pair.Call) {
		return 0
	}
	return v.Pair.Call[n.F.Offset]
}

// saved returns the place of a field of the pair's start, and its size in
// bytes; 0 if n is not a field of the start.
func (v Env) saved(n *expr.Field) (at int16, size int) {
	if f, i := v.waits(n); f != nil {
		return v.Pair.Fields[i], f.Size
	}
	return 0, 0
}

// waits finds the waiting field of the pair's start that n reads; nil if n is not a
// field of the start.
func (v Env) waits(n *expr.Field) (f *state.Field, index int) {
	if v.Pair == nil {
		return nil, 0
	}
	rest, start := n.Part.From(expr.Start)
	if !start {
		return nil, 0
	}
	own := sent.Column{Of: &expr.Field{F: n.F, Part: rest, View: n.View}}
	if i := v.Pair.Join.Waits.At(v.Pair.Start, &own); i >= 0 {
		return &v.Pair.Join.Waits.Fields[i], i
	}
	panic("BUG: field " + n.F.Name + " of the start was not foreseen")
}

// slot returns the place of a field of an emitted event, and its size in bytes;
// 0 if n is no such field.
func (v Env) slot(n *expr.Field) (at int16, size int) {
	if v.Out == nil || n.F.Place != event.InSlot || n.Part != expr.Self {
		return 0, 0
	}
	if n.F.Offset >= len(v.Out.Sizes) {
		assembler.Refuse("the stack of what a fold emits")
	}
	if v.Out.Places == nil {
		return -8, v.Out.Sizes[n.F.Offset] // while layouts are settled
	}
	return v.Out.Places[n.F.Offset], v.Out.Sizes[n.F.Offset]
}

func (v Env) stateAt() int16 {
	if v.Fold == nil {
		assembler.Refuse("the state of a fold outside of its functions")
	}
	return v.Fold.State
}

// ofEnd returns a field of a pair's end in the end's own environment, if the
// end is a derived event.
func (v Env) ofEnd(n *expr.Field) (end Env, own *expr.Field, ok bool) {
	if v.Pair == nil || v.Pair.End == (Env{}) {
		return v, n, false
	}
	rest, ok := n.Part.From(expr.End)
	if !ok {
		return v, n, false
	}
	return v.Pair.End, &expr.Field{F: n.F, Part: rest, View: n.View}, true
}

// ofStart is the room of a text of a pair's start, if the start is a derived event: its
// texts are in slots, not in a record.
func (v Env) ofStart(n *expr.Field) (room int, ok bool) {
	rest, ok := n.Part.From(expr.Start)
	if v.Pair == nil || !ok || rest == expr.Self && n.F.Place != event.InSlot {
		return 0, false
	}
	f, _ := v.waits(n)
	return f.Size, true
}

// keptText finds a text of the process that was kept for a pair's start.
func (v Env) keptText(n *expr.Native) (index int, ok bool) {
	if v.Pair == nil || expr.UserTextPart(n) != expr.Start {
		return 0, false
	}
	return v.Pair.Join.Texts.Of(v.Pair.Start, expr.Rebind(n, expr.Start, expr.Self).(*expr.Native).Args[0])
}

// keptField finds the text of a pair's start that an argument of a probe points to.
func (v Env) keptField(n *expr.Field) (index int, ok bool) {
	rest, start := n.Part.From(expr.Start)
	if v.Pair == nil || !start || rest != expr.Self {
		return 0, false
	}
	at := hook.TextAddress(n.F)
	if at == nil {
		return 0, false
	}
	return v.Pair.Join.Texts.Of(v.Pair.Start, &expr.Field{F: at})
}

// Waited is the place of a column that waited with the start.
func (p *Pair) Waited(c *sent.Column) int16 {
	if i := p.Join.Waits.At(p.Start, c); i >= 0 {
		return p.Fields[i]
	}
	panic("BUG: a column of the start was not foreseen")
}
