package bpf

import (
	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
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

// A joinLayout is where a join has its keys, and what waits of its events.
type joinLayout struct {
	index   int
	cols    []load.Column // of the key
	keyRoom int           // bytes
	waits   state.Waiting
	texts   state.CallTexts
	// late are the starts, by number, whose preemption count is read where their pairs are sent.
	late map[int]bool
}

// A foldLayout is where a fold has its keys, and the values of its states.
type foldLayout struct {
	index  int
	cols   []load.Column // of the key
	keyLen int
	init   []int64 // the numbers of a new state
	texts  []int   // where the texts lie in the state, and how long they can get
	rooms  []int
	// asks are the folds whose states the functions ask for, as they name them.
	asks map[any]*foldLayout
}

// slotsAt is where the numbers of a state begin.
const slotsAt = 24

// slot is where a number of the state is.
func (f *foldLayout) slot(i int) int16 { return slotsAt + int16(8*i) }

// pairEnv is the scope of expressions on a pair.
type pairEnv struct {
	join   *joinLayout
	start  int     // the input
	end    env     // what the end is, if operators made it
	fields []int16 // places of join.waits.Fields
	delay  int16
	key    int16
	now    int16   // the time of the end
	call   []int16 // by slot: places of what nested pairs have
	later  func()  // copies the fields that only who sends the pair reads; nil if they are there
}

// foldEnv is the state that the functions of a fold work on.
type foldEnv struct {
	fold  *foldLayout
	state int16 // place of the state's address
	stack int16 // of the number of the event's stack; 0 is not known
}

// emitEnv is the scope of expressions on an emitted event, or on that of a flush function.
type emitEnv struct {
	fold   *foldLayout
	sizes  []int // by value, in bytes
	places []int16
	key    int16 // of the state
	state  int16 // place of its address
	stack  int16 // of the number of the event's stack; 0 is none
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
			return assembler.UserRoom
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
		return assembler.UserRoom
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

// ofEnd is a field of a pair's end as the end sees it, if operators made that.
func (v env) ofEnd(n *expr.Field) (end env, own *expr.Field, ok bool) {
	if v.pair == nil || v.pair.end == (env{}) {
		return v, n, false
	}
	rest, ok := n.Part.From(expr.End)
	if !ok {
		return v, n, false
	}
	return v.pair.end, &expr.Field{F: n.F, Part: rest, View: n.View}, true
}

// ofStart is the room of a text of a pair's start that was computed for it: what operators
// make has texts of other places than records.
func (v env) ofStart(n *expr.Field) (room int, ok bool) {
	rest, ok := n.Part.From(expr.Start)
	if v.pair == nil || !ok || rest == expr.Self && n.F.Place != event.InSlot {
		return 0, false
	}
	f, _ := v.waits(n)
	return f.Size, true
}

// kept finds the text of a pair's start.
func (v env) kept(n *expr.Native) (index int, ok bool) {
	if v.pair == nil || expr.UserTextPart(n) != expr.Start {
		return 0, false
	}
	return v.pair.join.texts.Of(v.pair.start, expr.Rebind(n, expr.Start, expr.Self).(*expr.Native).Args[0])
}

// keptField finds the text of a pair's start that an argument of a probe points to.
func (v env) keptField(n *expr.Field) (index int, ok bool) {
	rest, start := n.Part.From(expr.Start)
	if v.pair == nil || !start || rest != expr.Self {
		return 0, false
	}
	at := hook.TextAddress(n.F)
	if at == nil {
		return 0, false
	}
	return v.pair.join.texts.Of(v.pair.start, &expr.Field{F: at})
}


// waited is the place of what waited with the start under a name.
func (p *pairEnv) waited(name string) int16 {
	if i := p.join.waits.At(p.start, name); i >= 0 {
		return p.fields[i]
	}
	panic("BUG: " + name + " of the start was not foreseen")
}
