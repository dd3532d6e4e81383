package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file generates agg.Group.Events. R7 is the row. Rows are of this CPU
// and of this program alone, so that plain additions do.

// unitOf returns the maps of a table in a program.
func (im *Image) unitOf(t *load.Table, program int) *load.Unit {
	for _, u := range im.Units {
		if u.Table == t && u.Program == program {
			return u
		}
	}
	u := state.NewUnit(im.host, t, program, im.layout.generations())
	im.Units = append(im.Units, u)
	return u
}

// A grouper adds the events of a program, or derived events, to a table.
type grouper struct {
	*gate
	unit *load.Unit

	// Places on the stack; 0 is none.
	key, hash  int16 // of the key, of a call stack in it
	generation int16
}

// feed adds the event, or the pair, to the table.
func (o *grouper) feed(f *feed) {
	c, t := o.code, o.unit.Table
	mark := c.Stack
	end, failed, full, found := c.Label(), c.Label(), c.Label(), c.Label()
	keyless := c.Label() // the predicates held
	late := o.awaits(f)
	o.eval.Fail = failed
	o.takes(f, end)
	o.eval.Fail = keyless
	if len(o.unit.Rows) > 1 {
		o.generation = c.Alloc(8)
	}
	base := c.Stack
	o.key = c.Alloc(t.KeyLen)
	if len(t.Cols) == 0 {
		c.Zero(o.key, t.KeyLen)
	}
	for i, col := range t.Cols {
		if !col.Stack {
			continue
		}
		if o.hash != 0 {
			refuse("two stacks in one key")
		}
		o.hash = o.key + int16(col.Off)
		o.walk.Leave(o.hash, stackOf(o.eval.Hook.Event, f.keys[i]), keyless)
	}
	o.eval.Keys(o.key, t.Cols, f.keys)
	var none int16
	if len(o.unit.Other) > 0 {
		none = c.Alloc(8)
		c.Zero(none, 8)
	}
	// The generation that counts now; it must not change under way.
	if len(o.unit.Rows) > 1 {
		second := c.Label()
		c.MapValue(asm.R1, load.GenerationMap.Of(), 0)
		c.Emit(asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord))
		c.Store(o.generation, asm.R1)
		c.IfImm(asm.JNE, asm.R1, 0, second)
		first := c.Label()
		o.row(0, found, first)
		c.Place(first)
		o.other(0, none, found)
		c.GoTo(end)
		c.Place(second)
		o.row(1, found, full)
		c.Place(full)
		o.other(1, none, found)
	} else {
		o.row(0, found, full)
		c.Place(full)
		o.other(0, none, found)
	}
	c.GoTo(end)
	c.Place(found)
	c.Stack = base // the row has its key
	if late != nil {
		o.eval.Late = &failed // no text is missing that was there
	}
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	o.hit()
	for i := range f.args {
		if !f.args[i].off {
			o.arg(&f.args[i], i)
		}
	}
	c.GoTo(end)
	if o.eval.Late = nil; late != nil {
		c.Place(*late)
		c.Stack = mark
		o.postpone(f.late)
		c.GoTo(end)
	}
	c.Place(keyless)
	o.count(t.StatRowless())
	c.Place(failed)
	o.count(t.StatErrors())
	c.Place(end)
	c.Stack = mark
}

// other jumps to found with the row of all keys for which there is no room in R0: the event
// is evicted, and in that row. none is a place with the number 0.
func (o *grouper) other(n int, none int16, found label) {
	o.count(o.unit.Table.StatEvicted())
	if none != 0 {
		o.code.Look(o.unit.Other[n], none, found)
	}
	o.count(o.unit.Table.StatRowless())
}

// row finds or makes the row of a key, and jumps to found with it in R0. If part
// of the key is a stack's hash, the stack is kept with a new row.
func (o *grouper) row(n int, found, full label) {
	c, u, t := o.code, o.unit, o.unit.Table
	mark := c.Stack
	if t.Value.Slots {
		state.RowSlot(c, t, u.Slots[n], o.key, found)
	}
	c.Look(u.Rows[n], o.key, found)
	// A map that grows has memory for a row or two; for more, interrupts must be enabled
	// first. Until then new rows are spare ones, and stay where they are.
	if len(u.Spare) > 0 {
		c.Look(u.Spare[n], o.key, found)
	}
	// Slow path: a new row.
	if o.hash != 0 {
		o.walk.Keep(o.hash, n, full)
	}
	c.Fresh(u.Rows[n], load.ZeroMap.Of(t.Index), o.key, found)
	if len(u.Spare) > 0 {
		c.Fresh(u.Spare[n], load.ZeroMap.Of(t.Index), o.key, found)
	}
	c.Stack = mark
}

// hit counts the event in its row, and when the row began.
func (o *grouper) hit() {
	c, t := o.code, o.unit.Table
	old := c.Label()
	c.Emit(asm.LoadMem(asm.R1, asm.R7, load.HitsAt, asm.DWord))
	c.IfImm(asm.JNE, asm.R1, 0, old)
	c.Call(asm.FnKtimeGetNs)
	c.Emit(asm.StoreMem(asm.R7, load.FirstAt, asm.R0, asm.DWord), asm.Mov.Imm(asm.R1, 0))
	if t.Value.Sketch {
		c.Emit(asm.StoreMem(asm.R7, int16(t.Value.Self), asm.R7, asm.DWord))
	}
	c.Place(old)
	c.Emit(asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R7, load.HitsAt, asm.R1, asm.DWord))
}

// arg adds to one argument. One that cannot be evaluated is an error of its
// own, and the others go on.
func (o *grouper) arg(a *arg, i int) {
	c, t := o.code, o.unit.Table
	at := &t.Value.Args[i]
	unsigned := o.numbers(a, i) == event.UintValue
	next, failed := c.Label(), c.Label()
	o.eval.Fail = failed
	if at.Once {
		c.Emit(asm.LoadMem(asm.R1, asm.R7, int16(at.N), asm.DWord))
		c.IfImm(asm.JNE, asm.R1, 0, next)
	}
	if a.where != nil {
		o.eval.Test(a.where, false, next)
	}
	mark := c.Stack
	var picked, rank int16
	if a.rank != nil {
		rank = c.Alloc(8)
		o.eval.Value(a.rank)
		c.Store(rank, asm.R0)
	}
	if rank != 0 || at.Oldest >= 0 || at.Newest >= 0 {
		picked = c.Alloc(at.Room)
	}
	switch {
	case a.fn == nil:
	case at.Text:
		o.eval.WholeText(picked, at.Room, a.fn)
	default:
		o.eval.Value(a.fn)
		if picked != 0 {
			c.Store(picked, asm.R0)
		}
	}
	c.Emit(asm.LoadMem(asm.R1, asm.R7, int16(at.N), asm.DWord))
	if a.fn != nil {
		least, greatest := asm.JSGE, asm.JSLE
		if unsigned {
			least, greatest = asm.JGE, asm.JLE
		}
		state.Extreme(c, at.Min, least)
		state.Extreme(c, at.Max, greatest)
	} else if at.Hist >= 0 || at.Sketch {
		c.Emit(asm.Mov.Imm(asm.R0, 0))
	}
	state.Sum(c, at, a.fn != nil, unsigned, o.share.Weight, o.share.Hash)
	full := c.Label()
	var v int16
	if at.Hist >= 0 && at.Sketch {
		v = c.Alloc(8)
		c.Store(v, asm.R0)
	}
	if at.Hist >= 0 {
		state.Histogram(c, at, &t.Spec.Aggs[at.Agg], unsigned, o.share.Weight)
	}
	if at.Sketch {
		if v != 0 {
			c.Load(asm.R0, v)
		}
		state.Sketch(c, o.unit, o.generation, i, unsigned, o.share.Weight, full)
	}
	if picked != 0 {
		state.Pick(c, at, picked, o.share.Weight)
	}
	if rank != 0 {
		state.PickRanked(c, at, picked, rank, expr.NumbersOf(a.rank).ValueKind() == event.UintValue,
			o.share.Weight)
	}
	c.Stack = mark
	c.GoTo(next)
	c.Place(failed)
	o.count(t.StatErrors())
	c.GoTo(next)
	c.Place(full)
	o.count(t.StatEvicted())
	c.Place(next)
}

// numbers says how the numbers of an argument are read. It refuses an argument that is signed in
// some events and unsigned in others, since their sums could not be told apart.
func (o *grouper) numbers(a *arg, i int) event.ValueKind {
	if o.unit.Numbers == nil {
		o.unit.Numbers = make([]event.ValueKind, len(o.unit.Table.Value.Args))
	}
	kind := &o.unit.Numbers[i]
	now := event.IntValue
	if a.fn != nil {
		now = expr.NumbersOf(a.fn).ValueKind()
	}
	if *kind != event.None && *kind != now {
		refuse("an aggregate of numbers of two types")
	}
	*kind = now
	return now
}
