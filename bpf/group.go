package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/agg"
	"ppscript/runtime/expr"
)

// This file generates agg.Group.Events. R7 is the row. Rows are of this CPU
// and of this program alone, so that plain additions do.

// unitOf returns the maps of a table in this program.
func (g *gen) unitOf(t *table) *unit {
	for _, u := range g.image.units {
		if u.table == t && u.program == g.index {
			return u
		}
	}
	u := &unit{table: t, program: g.index}
	for n := range g.graph.generations() {
		u.rows = append(u.rows, rowsMap.of(g.index, t.index, n))
		if g.host.Grows {
			u.spare = append(u.spare, spareMap.of(g.index, t.index, n))
		}
		if t.value.dense {
			u.dense = append(u.dense, denseMap.of(g.index, t.index, n))
		}
		if t.value.sketch {
			u.sketch = append(u.sketch, sketchMap.of(g.index, t.index, n))
		}
	}
	g.image.units = append(g.image.units, u)
	return u
}

// tableFeed adds the event, or the pair, to a table.
func (g *gen) tableFeed(f *feed) {
	c := g.code
	t := f.table
	u := g.unitOf(t)
	mark := c.stack
	end, failed, full, found := c.label(), c.label(), c.label(), c.label()
	g.fail = failed
	g.takes(f, end)
	key, stack := c.alloc(t.keyLen), int16(0)
	if len(t.cols) == 0 {
		c.zero(key, t.keyLen)
	}
	for i, col := range t.cols {
		if !col.stack {
			continue
		}
		if stack != 0 {
			refuse("two stacks in one key")
		}
		stack = key + int16(col.off)
		g.stack(stack, f.keys[i])
	}
	g.keys(key, t.cols, f.keys)
	// The generation that counts now; it must not change under way.
	generation := int16(0)
	if len(u.rows) > 1 {
		generation = c.alloc(8)
		second := c.label()
		c.mapValue(asm.R1, generationMap.of(), 0)
		c.emit(asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord))
		c.store(generation, asm.R1)
		c.ifImm(asm.JNE, asm.R1, 0, second)
		g.row(u, 0, key, stack, found, full)
		c.goTo(full)
		c.place(second)
		g.row(u, 1, key, stack, found, full)
	} else {
		g.row(u, 0, key, stack, found, full)
	}
	c.goTo(full)
	c.place(found)
	c.emit(asm.Mov.Reg(asm.R7, asm.R0))
	g.hit(t)
	for i := range f.args {
		if !f.args[i].off {
			g.arg(&f.args[i], t, i, u, generation)
		}
	}
	c.goTo(end)
	c.place(failed)
	g.count(t.statErrors())
	c.goTo(end)
	c.place(full)
	g.count(t.statEvicted())
	c.place(end)
	c.stack = mark
}

// keys puts the parts of a key at their places on the stack, but for call stacks.
func (g *gen) keys(key int16, cols []column, nodes []expr.Node) {
	for i, col := range cols {
		at := key + int16(col.off)
		switch {
		case col.stack:
		case col.text:
			g.text(at, col.size, nodes[i])
		default:
			g.value(nodes[i])
			g.code.store(at, asm.R0)
		}
	}
}

// row finds or makes the row of a key, and jumps to found with it in R0. If part
// of the key is a stack's hash, the stack is kept with a new row.
func (g *gen) row(u *unit, n int, key, stack int16, found, full label) {
	c := g.code
	t := u.table
	mark := c.stack
	if t.value.dense {
		hash := c.label()
		c.load(asm.R0, key)
		c.ifImm(asm.JGE, asm.R0, denseRows, hash)
		k := c.alloc(8)
		c.emit(asm.StoreMem(asm.R10, k, asm.R0, asm.Word))
		c.look(u.dense[n], k, found)
		c.place(hash)
	}
	c.look(u.rows[n], key, found)
	// Slow path: a new row.
	if stack != 0 {
		g.keep(stack, n, full)
	}
	c.fresh(u.rows[n], zeroMap.of(t.index), key, found)
	if len(u.spare) > 0 {
		// A map that grows has memory for a row or two; for more, interrupts
		// must be enabled first.
		c.look(u.spare[n], key, found)
		c.fresh(u.spare[n], zeroMap.of(t.index), key, found)
	}
	c.stack = mark
}

// hit counts the event in its row, and when the row began.
func (g *gen) hit(t *table) {
	c := g.code
	old := c.label()
	c.emit(asm.LoadMem(asm.R1, asm.R7, hitsAt, asm.DWord))
	c.ifImm(asm.JNE, asm.R1, 0, old)
	c.call(asm.FnKtimeGetNs)
	c.emit(asm.StoreMem(asm.R7, firstAt, asm.R0, asm.DWord), asm.Mov.Imm(asm.R1, 0))
	if t.value.sketch {
		c.emit(asm.StoreMem(asm.R7, int16(t.value.self), asm.R7, asm.DWord))
	}
	c.place(old)
	c.emit(asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R7, hitsAt, asm.R1, asm.DWord))
}

// arg adds to one argument. One that cannot be evaluated is an error of its
// own, and the others go on.
func (g *gen) arg(a *arg, t *table, i int, u *unit, generation int16) {
	c := g.code
	at := &t.value.args[i]
	next, failed := c.label(), c.label()
	g.fail = failed
	if a.where != nil {
		g.test(a.where, false, next)
	}
	if a.fn != nil {
		if !a.fn.Type().Numeric() {
			refuse("an aggregate of texts")
		}
		g.value(a.fn)
	}
	c.emit(asm.LoadMem(asm.R1, asm.R7, int16(at.n), asm.DWord))
	if a.fn != nil {
		g.extreme(at.min, asm.JSGE)
		g.extreme(at.max, asm.JSLE)
		if at.sum >= 0 {
			c.emit(asm.LoadMem(asm.R2, asm.R7, int16(at.sum), asm.DWord), asm.Add.Reg(asm.R2, asm.R0),
				asm.StoreMem(asm.R7, int16(at.sum), asm.R2, asm.DWord))
		}
	} else if at.hist >= 0 || at.sketch {
		c.emit(asm.Mov.Imm(asm.R0, 0))
	}
	c.emit(asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R7, int16(at.n), asm.R1, asm.DWord))
	full := c.label()
	mark := c.stack
	var v int16
	if at.hist >= 0 && at.sketch {
		v = c.alloc(8)
		c.store(v, asm.R0)
	}
	if at.hist >= 0 {
		g.histogram(at, &t.spec.Aggs[at.agg])
	}
	if at.sketch {
		if v != 0 {
			c.load(asm.R0, v)
		}
		g.sketch(u, i, generation, full)
	}
	c.stack = mark
	c.goTo(next)
	c.place(failed)
	g.count(t.statErrors())
	c.goTo(next)
	c.place(full)
	g.count(t.statEvicted())
	c.place(next)
}

// extreme keeps the smaller or larger one of R0 and the stored value; if R1
// is 0 there is none.
func (g *gen) extreme(at int, keeps asm.JumpOp) {
	if at < 0 {
		return
	}
	c := g.code
	set, keep := c.label(), c.label()
	c.ifImm(asm.JEq, asm.R1, 0, set)
	c.emit(asm.LoadMem(asm.R2, asm.R7, int16(at), asm.DWord))
	c.ifReg(keeps, asm.R0, asm.R2, keep)
	c.place(set)
	c.emit(asm.StoreMem(asm.R7, int16(at), asm.R0, asm.DWord))
	c.place(keep)
}

// histogram counts R0 in its bucket, which is in the row.
func (g *gen) histogram(at *argLayout, a *agg.Agg) {
	c := g.code
	done := c.label()
	if !a.Op.Kernel.Linear {
		// By bit length; values of 0 and less go to bucket 0.
		some := c.label()
		c.ifImm(asm.JSGT, asm.R0, 0, some)
		c.emit(asm.Mov.Imm(asm.R0, 0))
		c.place(some)
		g.code.log2(asm.R1, asm.R0)
	} else {
		g.linear(a)
	}
	// The verifier has followed every path with its own number; it forgets
	// them when the number goes through memory, and one check does for all.
	c.emit(asm.LoadMem(asm.R2, asm.R7, int16(at.hist), asm.DWord), // any word of the row
		asm.StoreMem(asm.R7, int16(at.hist), asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, int16(at.hist), asm.DWord),
		asm.StoreMem(asm.R7, int16(at.hist), asm.R2, asm.DWord))
	c.ifImm(asm.JGE, asm.R1, int32(at.nhist), done)
	c.emit(asm.LSh.Imm(asm.R1, 3), asm.Mov.Reg(asm.R2, asm.R7), asm.Add.Reg(asm.R2, asm.R1),
		asm.LoadMem(asm.R3, asm.R2, int16(at.hist), asm.DWord), asm.Add.Imm(asm.R3, 1),
		asm.StoreMem(asm.R2, int16(at.hist), asm.R3, asm.DWord))
	c.place(done)
}

// linear leaves in R1 the number of R0's bucket.
func (g *gen) linear(a *agg.Agg) {
	c := g.code
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

// sketchKey is the key of a bucket: the address of its row, which no other row
// has; then argument, sign and bucket.
const (
	sketchNeg = 16
	sketchArg = 17
)

// sketch counts R0 in its log-linear bucket, see agg.Bucket. There are some
// thousand buckets, of which a row uses few: they are in a hash.
func (g *gen) sketch(u *unit, arg int, generation int16, full label) {
	c := g.code
	mark := c.stack
	key, one := c.alloc(16), c.alloc(8)
	// R4 is the rest of the key, R3 the magnitude.
	positive, small, have := c.label(), c.label(), c.label()
	c.emit(asm.Mov.Imm(asm.R4, int32(arg)<<sketchArg), asm.Mov.Reg(asm.R3, asm.R0))
	c.ifImm(asm.JSGE, asm.R0, 0, positive)
	c.emit(asm.Neg.Imm(asm.R3, 0), asm.Or.Imm(asm.R4, 1<<sketchNeg))
	c.place(positive)
	c.ifImm(asm.JLT, asm.R3, 64, small)
	c.emit(asm.Mov.Reg(asm.R2, asm.R3))
	g.code.log2(asm.R1, asm.R2)
	// (e+1)*64 + (v>>e)%64, e being the bits beyond the first seven.
	c.emit(asm.Sub.Imm(asm.R1, 7), asm.And.Imm(asm.R1, 63), asm.RSh.Reg(asm.R3, asm.R1),
		asm.And.Imm(asm.R3, 63), asm.Add.Imm(asm.R1, 1), asm.LSh.Imm(asm.R1, 6), asm.Add.Reg(asm.R3, asm.R1))
	c.place(small)
	c.emit(asm.Or.Reg(asm.R4, asm.R3))
	c.store(key, asm.R7)
	c.store(key+8, asm.R4)
	bucket := func(n int) {
		c.look(u.sketch[n], key, have)
		c.emit(storeImm(asm.R10, one, 1))
		c.put(u.sketch[n], key, one, ebpf.UpdateNoExist)
	}
	done, made := c.label(), c.label()
	if generation != 0 {
		second := c.label()
		c.load(asm.R1, generation)
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
