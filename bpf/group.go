package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
	"ppscript/runtime/agg"
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
	u := &load.Unit{Table: t, Program: program}
	for n := range im.graph.generations() {
		u.Rows = append(u.Rows, load.RowsMap.Of(program, t.Index, n))
		if im.host.Grows {
			u.Spare = append(u.Spare, load.SpareMap.Of(program, t.Index, n))
		}
		if t.Value.Dense {
			u.Dense = append(u.Dense, load.DenseMap.Of(program, t.Index, n))
		}
		if t.Value.Sketch {
			u.Sketch = append(u.Sketch, load.SketchMap.Of(program, t.Index, n))
		}
	}
	im.Units = append(im.Units, u)
	return u
}

// A grouper adds the events of a program, or what is made of them, to a table.
type grouper struct {
	*gate
	unit  *load.Unit
	stack *walker

	// Places on the stack; 0 is none.
	key, hash  int16 // of the key, of a call stack in it
	generation int16
}

// feed adds the event, or the pair, to the table.
func (o *grouper) feed(f *feed) {
	c, t := o.code, o.unit.Table
	mark := c.stack
	end, failed, full, found := c.label(), c.label(), c.label(), c.label()
	o.eval.fail = failed
	o.takes(f, end)
	o.key = c.alloc(t.KeyLen)
	if len(t.Cols) == 0 {
		c.zero(o.key, t.KeyLen)
	}
	for i, col := range t.Cols {
		if !col.Stack {
			continue
		}
		if o.hash != 0 {
			refuse("two stacks in one key")
		}
		o.hash = o.key + int16(col.Off)
		o.stack.leave(o.hash, f.keys[i])
	}
	o.eval.keys(o.key, t.Cols, f.keys)
	// The generation that counts now; it must not change under way.
	if len(o.unit.Rows) > 1 {
		o.generation = c.alloc(8)
		second := c.label()
		c.mapValue(asm.R1, load.GenerationMap.Of(), 0)
		c.emit(asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord))
		c.store(o.generation, asm.R1)
		c.ifImm(asm.JNE, asm.R1, 0, second)
		o.row(0, found, full)
		c.goTo(full)
		c.place(second)
		o.row(1, found, full)
	} else {
		o.row(0, found, full)
	}
	c.goTo(full)
	c.place(found)
	c.emit(asm.Mov.Reg(asm.R7, asm.R0))
	o.hit()
	for i := range f.args {
		if !f.args[i].off {
			o.arg(&f.args[i], i)
		}
	}
	c.goTo(end)
	c.place(failed)
	o.count(t.StatErrors())
	c.goTo(end)
	c.place(full)
	o.count(t.StatEvicted())
	c.place(end)
	c.stack = mark
}

// row finds or makes the row of a key, and jumps to found with it in R0. If part
// of the key is a stack's hash, the stack is kept with a new row.
func (o *grouper) row(n int, found, full label) {
	c, u, t := o.code, o.unit, o.unit.Table
	mark := c.stack
	if t.Value.Dense {
		hash := c.label()
		c.load(asm.R0, o.key)
		c.ifImm(asm.JGE, asm.R0, denseRows, hash)
		k := c.alloc(8)
		c.emit(asm.StoreMem(asm.R10, k, asm.R0, asm.Word))
		c.look(u.Dense[n], k, found)
		c.place(hash)
	}
	c.look(u.Rows[n], o.key, found)
	// Slow path: a new row.
	if o.hash != 0 {
		o.stack.keep(o.hash, n, full)
	}
	c.fresh(u.Rows[n], load.ZeroMap.Of(t.Index), o.key, found)
	if len(u.Spare) > 0 {
		// A map that grows has memory for a row or two; for more, interrupts
		// must be enabled first.
		c.look(u.Spare[n], o.key, found)
		c.fresh(u.Spare[n], load.ZeroMap.Of(t.Index), o.key, found)
	}
	c.stack = mark
}

// hit counts the event in its row, and when the row began.
func (o *grouper) hit() {
	c, t := o.code, o.unit.Table
	old := c.label()
	c.emit(asm.LoadMem(asm.R1, asm.R7, load.HitsAt, asm.DWord))
	c.ifImm(asm.JNE, asm.R1, 0, old)
	c.call(asm.FnKtimeGetNs)
	c.emit(asm.StoreMem(asm.R7, load.FirstAt, asm.R0, asm.DWord), asm.Mov.Imm(asm.R1, 0))
	if t.Value.Sketch {
		c.emit(asm.StoreMem(asm.R7, int16(t.Value.Self), asm.R7, asm.DWord))
	}
	c.place(old)
	c.emit(asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R7, load.HitsAt, asm.R1, asm.DWord))
}

// arg adds to one argument. One that cannot be evaluated is an error of its
// own, and the others go on.
func (o *grouper) arg(a *arg, i int) {
	c, t := o.code, o.unit.Table
	at := &t.Value.Args[i]
	next, failed := c.label(), c.label()
	o.eval.fail = failed
	if a.where != nil {
		o.eval.test(a.where, false, next)
	}
	if a.fn != nil {
		if !a.fn.Type().Numeric() {
			refuse("an aggregate of texts")
		}
		o.eval.value(a.fn)
	}
	c.emit(asm.LoadMem(asm.R1, asm.R7, int16(at.N), asm.DWord))
	if a.fn != nil {
		o.extreme(at.Min, asm.JSGE)
		o.extreme(at.Max, asm.JSLE)
		if at.Sum >= 0 {
			c.emit(asm.LoadMem(asm.R2, asm.R7, int16(at.Sum), asm.DWord), asm.Add.Reg(asm.R2, asm.R0),
				asm.StoreMem(asm.R7, int16(at.Sum), asm.R2, asm.DWord))
		}
	} else if at.Hist >= 0 || at.Sketch {
		c.emit(asm.Mov.Imm(asm.R0, 0))
	}
	c.emit(asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R7, int16(at.N), asm.R1, asm.DWord))
	full := c.label()
	mark := c.stack
	var v int16
	if at.Hist >= 0 && at.Sketch {
		v = c.alloc(8)
		c.store(v, asm.R0)
	}
	if at.Hist >= 0 {
		o.histogram(at, &t.Spec.Aggs[at.Agg])
	}
	if at.Sketch {
		if v != 0 {
			c.load(asm.R0, v)
		}
		o.sketch(i, full)
	}
	c.stack = mark
	c.goTo(next)
	c.place(failed)
	o.count(t.StatErrors())
	c.goTo(next)
	c.place(full)
	o.count(t.StatEvicted())
	c.place(next)
}

// extreme keeps the smaller or larger one of R0 and the stored value; if R1
// is 0 there is none.
func (o *grouper) extreme(at int, keeps asm.JumpOp) {
	if at < 0 {
		return
	}
	c := o.code
	set, keep := c.label(), c.label()
	c.ifImm(asm.JEq, asm.R1, 0, set)
	c.emit(asm.LoadMem(asm.R2, asm.R7, int16(at), asm.DWord))
	c.ifReg(keeps, asm.R0, asm.R2, keep)
	c.place(set)
	c.emit(asm.StoreMem(asm.R7, int16(at), asm.R0, asm.DWord))
	c.place(keep)
}

// histogram counts R0 in its bucket, which is in the row.
func (o *grouper) histogram(at *load.Arg, a *agg.Agg) {
	c := o.code
	done := c.label()
	if !a.Op.Kernel.Linear {
		// By bit length; values of 0 and less go to bucket 0.
		some := c.label()
		c.ifImm(asm.JSGT, asm.R0, 0, some)
		c.emit(asm.Mov.Imm(asm.R0, 0))
		c.place(some)
		c.log2(asm.R1, asm.R0)
	} else {
		o.linear(a)
	}
	// The verifier has followed every path with its own number; it forgets
	// them when the number goes through memory, and one check does for all.
	c.emit(asm.LoadMem(asm.R2, asm.R7, int16(at.Hist), asm.DWord), // any word of the row
		asm.StoreMem(asm.R7, int16(at.Hist), asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, int16(at.Hist), asm.DWord),
		asm.StoreMem(asm.R7, int16(at.Hist), asm.R2, asm.DWord))
	c.ifImm(asm.JGE, asm.R1, int32(at.Buckets), done)
	c.emit(asm.LSh.Imm(asm.R1, 3), asm.Mov.Reg(asm.R2, asm.R7), asm.Add.Reg(asm.R2, asm.R1),
		asm.LoadMem(asm.R3, asm.R2, int16(at.Hist), asm.DWord), asm.Add.Imm(asm.R3, 1),
		asm.StoreMem(asm.R2, int16(at.Hist), asm.R3, asm.DWord))
	c.place(done)
}

// linear leaves in R1 the number of R0's bucket.
func (o *grouper) linear(a *agg.Agg) {
	c := o.code
	below, above, done := c.label(), c.label(), c.label()
	c.constant(asm.R1, a.Lo)
	c.ifReg(asm.JSLT, asm.R0, asm.R1, below)
	c.constant(asm.R2, a.Hi)
	c.ifReg(asm.JSGE, asm.R0, asm.R2, above)
	c.constant(asm.R3, a.Step)
	c.emit(asm.Sub.Reg(asm.R0, asm.R1), asm.Div.Reg(asm.R0, asm.R3), asm.Mov.Reg(asm.R1, asm.R0),
		asm.Add.Imm(asm.R1, 1))
	c.goTo(done)
	c.place(below)
	c.emit(asm.Mov.Imm(asm.R1, 0))
	c.goTo(done)
	c.place(above)
	c.constant(asm.R1, (a.Hi-a.Lo+a.Step-1)/a.Step+1)
	c.place(done)
}

// sketch counts R0 in its log-linear bucket, see agg.Bucket and load.SketchArg. There are some
// thousand buckets, of which a row uses few: they are in a hash.
func (o *grouper) sketch(arg int, full label) {
	c, u := o.code, o.unit
	mark := c.stack
	key, one := c.alloc(16), c.alloc(8)
	// R4 is the rest of the key, R3 the magnitude.
	positive, small, have := c.label(), c.label(), c.label()
	c.emit(asm.Mov.Imm(asm.R4, int32(arg)<<load.SketchArg), asm.Mov.Reg(asm.R3, asm.R0))
	c.ifImm(asm.JSGE, asm.R0, 0, positive)
	c.emit(asm.Neg.Imm(asm.R3, 0), asm.Or.Imm(asm.R4, 1<<load.SketchNeg))
	c.place(positive)
	c.ifImm(asm.JLT, asm.R3, 64, small)
	c.emit(asm.Mov.Reg(asm.R2, asm.R3))
	c.log2(asm.R1, asm.R2)
	// (e+1)*64 + (v>>e)%64, e being the bits beyond the first seven.
	c.emit(asm.Sub.Imm(asm.R1, 7), asm.And.Imm(asm.R1, 63), asm.RSh.Reg(asm.R3, asm.R1),
		asm.And.Imm(asm.R3, 63), asm.Add.Imm(asm.R1, 1), asm.LSh.Imm(asm.R1, 6), asm.Add.Reg(asm.R3, asm.R1))
	c.place(small)
	c.emit(asm.Or.Reg(asm.R4, asm.R3))
	c.store(key, asm.R7)
	c.store(key+8, asm.R4)
	bucket := func(n int) {
		c.look(u.Sketch[n], key, have)
		c.emit(storeImm(asm.R10, one, 1))
		c.put(u.Sketch[n], key, one, ebpf.UpdateNoExist)
	}
	done, made := c.label(), c.label()
	if o.generation != 0 {
		second := c.label()
		c.load(asm.R1, o.generation)
		c.ifImm(asm.JNE, asm.R1, 0, second)
		bucket(0)
		c.goTo(made)
		c.place(second)
		bucket(1)
		c.place(made)
	} else {
		bucket(0)
	}
	c.ifImm(asm.JNE, asm.R0, 0, full)
	c.goTo(done)
	c.place(have)
	c.emit(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord))
	c.place(done)
	c.stack = mark
}
