package bpf

import (
	"encoding/binary"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/fold"
)

// This file generates fold.Fold.Events: the state of an event's key is found or
// made, and the step function works on it in place. Events that the function
// emits go to tables at once, in the same program.
//
// Two CPUs may have events of one key at the same time. Each state has a lock,
// its first word: the number of the CPU that works on it, and 1. A program that
// finds it taken by another CPU tries again; the other one needs less than a
// microsecond, unless an interrupt comes. A program that finds it taken by its
// own CPU has interrupted the one that works on it, and must not wait: its event
// is lost, and counted, as is one whose patience ends. The kernel's own
// bpf_spin_lock is not for programs of tracepoints.
//
// No lock is needed where the key is the running thread and its events do not
// come in interrupts: a thread runs on one CPU at a time. Then the state is with
// the task, and ends with it. Else it is in a hash, which has the bound of the
// fold: ppscript gives up the oldest states before it is full (load/sweep.go), so
// that each says when it was last used. Events of keys that find no room all the
// same are counted as evicted.

// A foldOp is a state machine for each key.
type foldOp struct {
	eval.Fold
	spec  *fold.Spec
	feeds []feed // of emitted events, to tables or out of the kernel

	emits   []int // bytes of an emitted event, by field; a number has 8
	size    int
	context *foldContext // how the event that began a state is kept; nil: it is not
	holds   bool         // numbers of stacks
	keeping
}

// keeping says where the states of a fold are stored.
type keeping struct {
	locked bool
	tasks  bool // with the task, not in a hash
	swept  bool // in a hash that may get full: the oldest states are evicted
}

// Places in a state; then texts.
const (
	foldLock  = 0  // u64: the CPU that works on it and 1; or that it has begun
	foldUsed  = 8  // u64: jiffies when it was last used, if it is swept
	foldBorn  = 16 // u64: when it was made, if it is flushed
	foldSlots = eval.SlotsAt
)

// foldLimit bounds a state.
const foldLimit = 2048

// stepsOf calls fn for each feed of f, with the source whose program has it.
func (s *layout) stepsOf(f *foldOp, fn func(e *source, in eval.Env, feed *feed)) {
	s.taking(func(to *feed) bool { return to.fold == f }, fn)
}

// prepareFold settles the layout of states and of emitted events, once.
func (s *layout) prepareFold(f *foldOp, host *Host) {
	if s.isPrepared(f) {
		return
	}
	s.prepareMakers(host, func(to *feed) bool { return to.fold == f })
	asked := f.prepareAsked(s, host)
	f.Rooms = make([]int, len(f.spec.Texts))
	for i, t := range f.spec.Texts {
		eval.NoNUL(t)
		f.Rooms[i] = eval.Pad(len(t) + 1)
	}
	own, cpus := true, true
	var keys []keyExprs
	s.stepsOf(f, func(e *source, in eval.Env, feed *feed) {
		k := keyExprs{e, in, keysOf(feed.key), nil}
		keys = append(keys, k)
		cpus = cpus && len(k.keys) == 1 && state.IsCPU(k.keys[0])
		feed.holds = s.holds(f, e, in, feed.step)
		f.holds = f.holds || feed.holds
		own = own && in.Pair == nil && len(k.keys) == 1 && state.IsThread(k.keys[0]) &&
			state.NeverIdle(e.Event)
	})
	if len(keys) == 0 {
		refuse("nothing feeds a fold")
	}
	f.Cols, f.KeyLen = columnsOf(keys)
	checkKey(host, f.KeyLen)
	// The states of tasks cannot be walked, and the flusher, or the reader, is another task.
	own = own && f.spec.Flush == nil && !f.holds && !asked
	f.locked, f.tasks = !own, own && host.TaskStorage
	f.swept = !f.tasks && (!cpus || f.holds)
	if f.locked && !host.Atomics {
		refuse("states that several CPUs work on need Linux 5.12")
	}
	// Texts of the state may be copied from one to another: twice settles it.
	for range 2 {
		s.stepsOf(f, func(_ *source, in eval.Env, feed *feed) {
			in.Fold = &eval.FoldState{Fold: &f.Fold, Stack: -8}
			f.roomsOf(feed.step, in)
		})
		if f.spec.Flush != nil {
			f.roomsOf(nodeOf(f.spec.Flush), f.flushEnv(0, nil))
		}
	}
	if f.spec.Stacks != nil {
		f.emits = append(f.emits, 8)
	}
	f.size = foldSlots + 8*len(f.spec.Init)
	f.Texts = make([]int, len(f.Rooms))
	for i, room := range f.Rooms {
		f.Texts[i] = f.size
		f.size += room
	}
	s.prepareContext(f)
	if f.size > foldLimit {
		refuse("a state of %d bytes", f.size)
	}
}

// prepareAsked prepares the folds that the functions of f look up states of, and reports
// whether other folds look up states of f.
func (f *foldOp) prepareAsked(s *layout, host *Host) (asked bool) {
	f.Asks = map[any]*eval.Fold{}
	for _, other := range s.folds {
		for _, spec := range other.spec.Asks {
			asked = asked || spec == f.spec
		}
		for name, spec := range f.spec.Asks {
			if spec == other.spec {
				s.prepareFold(other, host)
				f.Asks[name] = &other.Fold
			}
		}
	}
	return asked
}

// keysOf returns the columns of a fold's key.
func keysOf(n expr.Node) []expr.Node {
	if t, ok := n.(*expr.TupleOf); ok {
		return t.Elems
	}
	return []expr.Node{n}
}

// roomsOf makes room for the texts that a step function stores and emits.
func (f *foldOp) roomsOf(step expr.Node, in eval.Env) {
	expr.Walk(step, func(n expr.Node) bool {
		switch n := n.(type) {
		case *expr.StoreState:
			if n.X.Type().Kind == expr.Str {
				f.Rooms[n.Slot] = max(f.Rooms[n.Slot], in.Room(n.X))
			}
		case *expr.Emit:
			for i, a := range n.Args {
				if i == len(f.emits) {
					f.emits = append(f.emits, 8)
				}
				switch {
				case a.Type().Kind == expr.Str:
					f.emits[i] = max(f.emits[i], in.Room(a))
				case !a.Type().Numeric():
					refuse("a fold emits a %s", a.Type())
				}
			}
		}
		return true
	})
}

// A folder brings the events of a program, or pairs, to a fold, and emitted events
// to tables or out of the kernel.
type folder struct {
	*gate
	fold *foldOp
	key  int16 // offset of the key on the stack
	next func(f *feed)
}

// feed brings the event, or the pair, to the fold.
func (o *folder) feed(feed *feed) {
	c, f := o.code, o.fold
	mark := c.Stack
	end, failed, free, full, busy := c.Label(), c.Label(), c.Label(), c.Label(), c.Label()
	o.eval.Fail = failed
	o.takes(feed, end)
	stack := o.hold(feed)
	key := c.Alloc(f.KeyLen)
	o.key = key
	o.eval.Keys(key, f.Cols, keysOf(feed.key))
	o.share.Test(key, f.KeyLen, end)
	defer func() { o.share.Hash = 0 }()
	state := c.Alloc(8)
	o.findState(key, state, full)
	broken := failed
	if f.locked {
		lockState(o.eval, state, busy)
	}
	if f.locked || f.context != nil {
		broken = c.Label()
	}
	o.share.Renew(state, foldBorn, foldSlots, f.initial())
	before := o.since(state)
	o.eval.Env.Fold, o.eval.Fail = &eval.FoldState{Fold: &f.Fold, State: state, Stack: stack}, broken
	o.eval.Run(feed.step, o.emitted)
	o.eval.Env.Fold = nil
	if broken != failed {
		c.GoTo(free)
		c.Place(broken)
		o.count(load.StatErrors)
		c.Place(free)
		o.begins(state, before, stack)
	}
	if f.locked {
		unlockState(c, state)
		c.GoTo(end)
		c.Place(busy)
		o.count(load.StatLost)
	}
	c.GoTo(end)
	c.Place(failed)
	o.count(load.StatErrors)
	c.GoTo(end)
	c.Place(full)
	o.count(load.StatEvicted)
	c.Place(end)
	c.Stack = mark
}

// findState stores the address of the key's state on the stack.
func (o *folder) findState(key, state int16, full label) {
	c, f := o.code, o.fold
	found := c.Label()
	if f.tasks {
		begun := c.Label()
		c.TaskValue(load.FoldMap.Of(f.Index), true)
		c.IfImm(asm.JEq, asm.R0, 0, full)
		c.Emit(asm.LoadMem(asm.R1, asm.R0, foldLock, asm.DWord))
		c.IfImm(asm.JNE, asm.R1, 0, begun)
		c.Emit(assembler.StoreImm(asm.R0, foldLock, 1))
		for i, w := range f.initial() {
			if w != 0 {
				c.Constant(asm.R1, int64(w))
				c.Emit(asm.StoreMem(asm.R0, foldSlots+int16(8*i), asm.R1, asm.DWord))
			}
		}
		c.Place(begun)
		c.Store(state, asm.R0)
		return
	}
	c.Look(load.FoldMap.Of(f.Index), key, found)
	// The slow path, of a new key.
	if f.swept {
		c.MapValue(asm.R1, load.MadeMap.Of(f.Index), 0)
		c.Emit(asm.Mov.Imm(asm.R2, 1), asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0))
	}
	made := found
	if f.spec.Flush != nil {
		made = c.Label()
	}
	c.Fresh(load.FoldMap.Of(f.Index), load.InitialMap.Of(f.Index), key, made)
	c.GoTo(full)
	if made != found {
		c.Place(made)
		c.Store(state, asm.R0)
		c.Call(asm.FnKtimeGetNs)
		c.Load(asm.R1, state)
		c.Emit(asm.StoreMem(asm.R1, foldBorn, asm.R0, asm.DWord), asm.Mov.Reg(asm.R0, asm.R1))
	}
	c.Place(found)
	c.Store(state, asm.R0)
	if f.swept {
		c.Call(asm.FnJiffies64) // which the kernel makes a load
		c.Load(asm.R1, state)
		c.Emit(asm.StoreMem(asm.R1, foldUsed, asm.R0, asm.DWord))
	}
}

// initial is the initial state behind its first word.
func (f *foldOp) initial() []uint64 {
	var ws []uint64
	for _, n := range f.spec.Init {
		ws = append(ws, uint64(n))
	}
	for i, t := range f.spec.Texts {
		ws = append(ws, eval.Words(t, f.Rooms[i])...)
	}
	return ws
}

// emitted evaluates an emitted event and brings it to its readers.
func (o *folder) emitted(n *expr.Emit) {
	c, f := o.code, o.fold
	mark := c.Stack
	out := &eval.EmitScope{Fold: &f.Fold, Sizes: f.emits, Key: o.key + int16(f.Cols[0].Off),
		State: o.eval.Env.Fold.State, Stack: o.eval.Env.Fold.Stack}
	for i, a := range n.Args {
		at := c.Alloc(f.emits[i])
		if a.Type().Kind == expr.Str {
			o.eval.Text(at, f.emits[i], a)
		} else {
			o.eval.Num(a)
			c.Store(at, asm.R0)
		}
		out.Places = append(out.Places, at)
	}
	if f.spec.Stacks != nil {
		at := c.Alloc(8)
		c.Emit(asm.Mov.Imm(asm.R0, 0))
		if f.emitsStack(o.eval.Hook.Event.Stream) {
			c.Load(asm.R0, out.Stack)
		}
		c.Store(at, asm.R0)
		out.Places = append(out.Places, at)
	}
	inside, fail := o.eval.Env, o.eval.Fail
	for i := range f.feeds {
		o.eval.Env = eval.Env{Out: out}
		o.next(&f.feeds[i])
	}
	o.eval.Env, o.eval.Fail = inside, fail
	c.Stack = mark
}

// foldMaps are the maps of all folds.
func (im *Image) foldMaps() {
	for _, f := range im.layout.folds {
		if f.tasks {
			im.define(load.FoldMap.Of(f.Index), state.TaskMap(f.size))
			continue
		}
		im.define(load.FoldMap.Of(f.Index),
			state.Grow(im.host, &ebpf.MapSpec{
				Type: ebpf.Hash, KeySize: uint32(f.KeyLen), ValueSize: uint32(f.size),
			}, f.spec.Limit, state.MostRows))
		value := make([]byte, f.size)
		for i, w := range f.initial() {
			binary.LittleEndian.PutUint64(value[foldSlots+8*i:], w)
		}
		im.define(load.InitialMap.Of(f.Index),
			&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(f.size), MaxEntries: 1,
				Contents: []ebpf.MapKV{{Key: uint32(0), Value: value}}})
		if f.swept {
			im.sweepFold(f, value)
		}
	}
}

// sweepFold adds a fold to the maps whose old states ppscript evicts; value is
// the initial state.
func (im *Image) sweepFold(f *foldOp, value []byte) {
	made := load.MadeMap.Of(f.Index)
	im.define(made, &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	im.Folds = append(im.Folds, load.Fold{States: load.FoldMap.Of(f.Index), Creations: made,
		Begin: f.initial(), Used: foldUsed / 8, First: foldSlots / 8, Holds: f.holds})
}

// lockState takes the state, or jumps to busy.
func lockState(e *eval.Eval, state int16, busy label) {
	e.Field(asm.R8, cpuNode)
	assembler.Lock(e.Code, state, asm.R8, foldLock, busy)
}

// unlockState gives the state back.
func unlockState(c *code, state int16) { assembler.Unlock(c, state, foldLock) }
