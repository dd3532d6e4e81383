package agg

import (
	"encoding/binary"
	"unsafe"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/key"
	"ppscript/runtime/system/memory"
)

// A Group aggregates events by key. It implements flow.Sink.
//
// Measures hold count, sum, min and max of each distinct argument, so that
// several aggregators over one argument evaluate it once and update one cache
// line.
type Group struct {
	spec Spec

	// Keys: one integer column takes the fast table, anything else is packed
	// into bytes. No keys is row 0.
	ints  *key.Ints
	texts *key.Texts
	packs []pack // by column, if one stream arrives; nil: use key.Append

	rows     []row
	measures []Measure // len(spec.Args) for each row
	marks    []Measure // a copy of the measures at the last Mark
	keeping
	doubts

	// rest aggregates the events whose keys found no room, as one row; nil if there
	// are none.
	rest *Group

	work   Workspace
	frame  expr.Frame
	errs   flow.Errors
	events uint64
}

// keeping holds the States of aggregators that need more than the measure: stride states
// for each row, of which the i-th aggregator has index slots[i], -1 if none.
type keeping struct {
	states []State
	slots  []int
	stride int
}

// A Spec describes a Group: its keys and aggregators.
type Spec struct {
	Keys []*flow.Fn
	Aggs []Agg
	// Args are the distinct arguments; Agg.Arg indexes them.
	Args []Arg
	// Limit bounds the rows. Events of further keys are counted as evicted and aggregated
	// in the row of Group.Other. 0 is key.DefaultLimit.
	Limit int
	// Memory bounds the memory of the rows; nil sets no bound. Name is the
	// result's name in its messages.
	Memory *memory.Budget
	Name   string
}

// An Arg is the argument of aggregators: a number, under a condition.
type Arg struct {
	Fn    *flow.Fn // nil: only the count matters
	Where *flow.Fn // nil: always
	// Rank is the number by which AtMax and AtMin choose the value; nil for
	// other aggregators.
	Rank *flow.Fn
	// Only says, by stream index, which streams contribute; nil is all. A table
	// with a column for each event uses it.
	Only []bool

	slots   []int // by aggregator: index of its State in a row, -1 if none
	numeric bool  // some aggregator takes numbers only
}

type row struct {
	first event.Time
}

// New returns a Group. It does not keep a reference to s.Args.
func New(s Spec) *Group {
	g := &Group{spec: s}
	g.spec.Args = append([]Arg(nil), s.Args...)
	for i := range g.spec.Args {
		g.spec.Args[i].slots, g.spec.Args[i].numeric = nil, false
	}
	for i := range g.spec.Aggs {
		a := &g.spec.Aggs[i]
		slot := -1
		arg := &g.spec.Args[a.Arg]
		arg.numeric = arg.numeric || a.Op.Numeric
		if a.Op.New != nil {
			slot = g.stride
			g.stride++
			arg.slots = append(arg.slots, slot)
		}
		g.slots = append(g.slots, slot)
	}
	switch {
	case len(s.Keys) == 0:
	case len(s.Keys) == 1 && integer(s.Keys[0]):
		g.ints = key.NewInts(s.Limit)
	default:
		g.texts = key.NewTexts(s.Limit)
		g.packs = packsOf(s.Keys)
	}
	if part := s.Memory.Part(s.Name); part != nil && g.ints != nil {
		g.ints.Bound(part, s.RowBytes())
	} else if part != nil && g.texts != nil {
		g.texts.Bound(part, s.RowBytes())
	}
	return g
}

// RowBytes estimates the size of a row in bytes, without its key. The memory budget measures
// States that grow later.
func (s *Spec) RowBytes() int {
	n := int(unsafe.Sizeof(row{})) + len(s.Args)*int(unsafe.Sizeof(Measure{}))
	n += n / 2 // slices grow by more than is needed
	for i := range s.Aggs {
		a := &s.Aggs[i]
		switch {
		case a.Op.New == nil:
		case a.Op.Kernel != nil && a.Op.Kernel.Counters != nil:
			n += 64 + 8*a.Op.Kernel.Counters(a)
		default:
			n += 192
		}
	}
	return n
}

// integer reports that every program of f yields an integer.
func integer(f *flow.Fn) bool {
	ok := true
	f.Each(func(p *expr.Program) { ok = ok && p.Type.Numeric() })
	return ok
}

// Lost implements flow.Sink. A loss breaks no state; the result reports how
// many events are missing.
func (g *Group) Lost(int32, uint64, event.Time) {}

// Events implements flow.Sink.
func (g *Group) Events(evs []*event.Event) {
	g.events += uint64(len(evs))
	// Fast path: count by one integer of one stream.
	if g.ints != nil && len(g.spec.Args) == 1 && g.spec.Args[0].plainCount() {
		if p := g.spec.Keys[0].One(); p != nil {
			g.countInts(p, evs)
			return
		}
	}
	if g.packs != nil && len(g.spec.Args) == 1 && g.spec.Args[0].plainCount() {
		g.countPacked(evs)
		return
	}
	for _, e := range evs {
		g.frame.Reset(e)
		r := g.row(e)
		if g.frame.Err != nil {
			g.errs.Note(&g.frame)
			continue
		}
		if r == key.None {
			g.overflow(e)
			continue
		}
		g.update(e, r)
	}
}

// overflow counts an event whose key finds no room.
//
// Slow path: the table is full.
func (g *Group) overflow(e *event.Event) {
	g.work.evicted++
	rest := g.others()
	rest.work.one[0] = e
	rest.Events(rest.work.one[:])
	rest.work.one[0] = nil
	if g.errs.First == nil {
		g.errs.First = rest.errs.First
	}
}

// others is the Group of events whose keys found no room.
func (g *Group) others() *Group {
	if g.rest == nil {
		g.rest = New(Spec{Aggs: g.spec.Aggs, Args: g.spec.Args})
	}
	return g.rest
}

func (a *Arg) plainCount() bool {
	return a.Fn == nil && a.Where == nil && a.Only == nil && len(a.slots) == 0
}

func (g *Group) countInts(p *expr.Program, evs []*event.Event) {
	for _, e := range evs {
		g.frame.Reset(e)
		k := p.Int(&g.frame)
		if g.frame.Err != nil {
			g.errs.Note(&g.frame)
			continue
		}
		r, fresh := g.ints.Insert(k)
		if fresh {
			g.fresh(r, e)
		} else if r == key.None {
			g.overflow(e)
			continue
		}
		g.measures[r].N++
	}
}

// row finds the row of e's key.
func (g *Group) row(e *event.Event) int32 {
	var r int32
	var fresh bool
	switch {
	case g.ints != nil:
		k := g.spec.Keys[0].For(e).Int(&g.frame)
		if g.frame.Err != nil {
			return key.None
		}
		r, fresh = g.ints.Insert(k)
	case g.texts != nil:
		g.pack(e)
		if g.frame.Err != nil {
			return key.None
		}
		r, fresh = g.texts.Insert(g.work.pack)
	default:
		fresh = len(g.rows) == 0
	}
	if fresh {
		g.fresh(r, e)
	}
	return r
}

// pack packs the key of the frame's event, e.
func (g *Group) pack(e *event.Event) {
	b := g.work.pack[:0]
	if g.packs == nil {
		for _, k := range g.spec.Keys {
			b = key.Append(b, k.For(e), &g.frame)
		}
		g.work.pack = b
		return
	}
	for i := range g.packs {
		k := &g.packs[i]
		if k.num != nil {
			b = binary.LittleEndian.AppendUint64(b, uint64(k.num(&g.frame)))
		} else {
			text := k.text(&g.frame)
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
		}
	}
	g.work.pack = b
}

// A pack is a column of a key of one stream, a number or a text, as key.Append packs
// it.
type pack struct {
	num  func(*expr.Frame) int64
	text func(*expr.Frame) []byte
}

// packsOf says how the columns of a key are packed; nil if more than one stream
// arrives, or a column is neither a number nor a text.
func packsOf(keys []*flow.Fn) []pack {
	var list []pack
	for _, k := range keys {
		p := k.One()
		switch {
		case p != nil && p.Type.Numeric():
			list = append(list, pack{num: p.Int})
		case p != nil && p.Type.Kind == expr.Str:
			list = append(list, pack{text: p.Str})
		default:
			return nil
		}
	}
	return list
}

// countPacked counts by a text or by several columns.
//
// Fast path: events come in runs of one text.
func (g *Group) countPacked(evs []*event.Event) {
	one := g.packs[0].text
	if len(g.packs) > 1 {
		one = nil
	}
	for _, e := range evs {
		g.frame.Reset(e)
		if one != nil {
			text := one(&g.frame)
			if r := g.texts.Last(textPrefix, text); r >= 0 && g.frame.Err == nil {
				g.measures[r].N++
				continue
			}
			g.work.pack = binary.LittleEndian.AppendUint32(g.work.pack[:0], uint32(len(text)))
			g.work.pack = append(g.work.pack, text...)
		} else {
			g.pack(e)
		}
		if g.frame.Err != nil {
			g.errs.Note(&g.frame)
			continue
		}
		r, fresh := g.texts.Insert(g.work.pack)
		if fresh {
			g.fresh(r, e)
		} else if r == key.None {
			g.overflow(e)
			continue
		}
		g.measures[r].N++
	}
}

// textPrefix is what key.Append puts in front of a text: its length.
const textPrefix = 4

// fresh makes the States of a new row. It must be called in the order of row
// numbers.
func (g *Group) fresh(r int32, e *event.Event) {
	g.rows = append(g.rows, row{first: e.Time})
	for range g.spec.Args {
		g.measures = append(g.measures, Measure{})
	}
	if g.stride > 0 {
		g.freshStates()
	}
}

func (g *Group) freshStates() {
	// A row of an earlier interval, which Reset left empty, serves again.
	if n := len(g.states) + g.stride; n <= cap(g.states) && g.states[:n][n-1] != nil {
		g.states = g.states[:n]
		return
	}
	for i := range g.spec.Aggs {
		if a := &g.spec.Aggs[i]; a.Op.New != nil {
			g.states = append(g.states, a.Op.New(a, &g.work))
		}
	}
}

// state is the State of the i-th aggregator for row r.
func (g *Group) state(r int32, i int) State { return g.states[int(r)*g.stride+g.slots[i]] }

func (g *Group) update(e *event.Event, r int32) {
	base := int(r) * len(g.spec.Args)
	states := g.states[int(r)*g.stride:]
	for i := range g.spec.Args {
		a := &g.spec.Args[i]
		if a.Only != nil && !a.Only[e.Stream.Index] {
			continue
		}
		if a.Where != nil {
			ok := a.Where.For(e).Bool(&g.frame)
			if g.frame.Err != nil {
				g.errs.Note(&g.frame) // a failed rank drops the value
				continue
			}
			if !ok {
				continue
			}
		}
		m := &g.measures[base+i]
		if a.Fn == nil {
			m.N++
			for _, slot := range a.slots {
				states[slot].Add(event.IntNumber(0))
			}
			continue
		}
		if a.Rank != nil {
			g.ranked(a, m, states, e)
			continue
		}
		g.value(a, m, states, a.Fn.For(e))
	}
}

// ranked adds the value of an argument that has a rank.
func (g *Group) ranked(a *Arg, m *Measure, states []State, e *event.Event) {
	rank, ok := a.Rank.For(e).Value(&g.frame).Number()
	if g.frame.Err == nil && !ok {
		g.frame.Fail(expr.ErrKind)
	} else if g.frame.Err == nil && rank.NaN() {
		g.frame.Fail(expr.ErrNaN)
	}
	v := a.Fn.For(e).Value(&g.frame)
	if g.frame.Err != nil {
		g.errs.Note(&g.frame)
		return
	}
	m.N++
	for _, slot := range a.slots {
		states[slot].(rankedState).AddRanked(rank, v)
	}
}

// value adds the value of an argument.
func (g *Group) value(a *Arg, m *Measure, states []State, p *expr.Program) {
	var n event.Number
	switch p.Type.Kind {
	case expr.Int, expr.Bool:
		n = event.NumberOf(p.Number, p.Int(&g.frame))
	case expr.Float:
		n = g.checked(a, event.FloatNumber(p.Float(&g.frame)))
	default:
		v := p.Value(&g.frame)
		var number bool
		if n, number = v.Number(); number {
			n = g.checked(a, n)
			break
		}
		if a.numeric {
			g.frame.Fail(expr.ErrKind)
		}
		if g.frame.Err != nil {
			g.errs.Note(&g.frame)
			return
		}
		m.N++
		for _, slot := range a.slots {
			if s, ok := states[slot].(textState); ok {
				s.AddValue(v)
			}
		}
		return
	}
	if g.frame.Err != nil {
		g.errs.Note(&g.frame)
		return
	}
	m.add(n)
	for _, slot := range a.slots {
		states[slot].Add(n)
	}
}

// checked fails the frame if n is no number and some aggregator needs a number.
func (g *Group) checked(a *Arg, n event.Number) event.Number {
	if a.numeric && n.NaN() {
		g.frame.Fail(expr.ErrNaN)
	}
	return n
}
