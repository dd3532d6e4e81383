package bpf

import (
	"slices"

	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/record/sent"
)

// This file settles the columns of records that leave the kernel, and describes them to their
// readers. Every record consists of columns (package sent), whether it describes an event, a pair,
// an event that a fold emits or an unpaired event. send.go fills the columns.

// record is the layout of one kind of sent record.
type record struct {
	*Record
	columns []sent.Column
	size    int // bytes
	texts   int // offset of the word that locates the texts
	recordNumber
	pair    bool // it describes a pair
	emitted bool // it describes an event that a fold emits
	// stacked says which parts of a pair, start and end, have their stacks
	// sent.
	stacked [2]bool
	derived []sent.Column // of parts of a pair that are derived events themselves
	context int           // offset of the two events between which an emitted event lies
}

// recordNumber is the number that a record is sent under: the number of its stream or, for pairs of
// many functions, a number of numbers. numbers is nil for all other records.
type recordNumber struct {
	stream  int
	numbers *hook.PairNumbers
}

// wholeMost bounds whole records, mostSent the columns of others.
const (
	wholeMost = 4096
	mostSent  = 3 * state.WaitingLimit / 2
)

// locatedSize is the room for a text whose offset is in the event's own record (__data_loc), and
// which is only shown in lines. Unlike a key, such a text may be cut: package sent then marks its
// end.
const locatedSize = sent.LocatorSize + sent.LongRoom

// columnOf is the column of a field of an event's own record, of a register or an argument of a
// probe, or of a value that only programs can read.
func columnOf(f *expr.Field) sent.Column {
	c := sent.Column{Of: f, Part: f.Part, Size: f.F.Size}
	_, known := hook.Sizes[c.Size]
	switch member := f.F.Place == event.InMember; {
	case hook.IsLocated(f):
		c.Form, c.Size = sent.Located, locatedSize
	case hook.IsUserText(f.F):
		c.Form, c.Size = sent.UserText, locatedSize
	case member && f.F.Member.OfRegister():
		argument(&c)
	case f.F.Read != nil && f.F.Kind == event.Str:
		c.Form, c.Size = sent.Text, eval.Env{}.FieldRoom(f)
	case f.F.Read != nil && f.F.Kind == event.Int, member && ofProgram(f.F):
		c.Size = 8
	case f.F.Place != event.InRaw || f.View != expr.ViewValue:
		refuse("field %s is not at a fixed place of its record", f.F.Name)
	case f.F.Kind == event.Str:
		c.Form, c.Size = sent.Text, eval.Env{}.FieldRoom(f)
	case f.F.Kind == event.Array:
		c.Form, c.Size = sent.Array, hook.ArraySize(f.F, state.WaitingLimit)
	case f.F.Kind != event.Int || !known:
		refuse("field %s is neither a number nor a text", f.F.Name)
	}
	return c
}

// ofProgram reports a sample member that only programs of the kernel can read.
func ofProgram(f *event.Field) bool { return f.Member.OfContext() || f.Member == event.MemberCgroup }

// argument settles the column of an argument of a probe, or of a register.
func argument(c *sent.Column) {
	f := c.Of.F
	switch o := f.Operand(); {
	case f.Kind != event.Int || f.Member.OfProbe() && o == nil:
		refuse("field %s is computed of a sample", f.Name)
	case o != nil && o.Load > 0:
		c.Form, c.Size = sent.Read, 16
	default:
		c.Size = 8
	}
}

// valueOf is the column of a value that an operator computes.
func valueOf(f *event.Field, part expr.Part, size int) sent.Column {
	c := sent.Column{Of: &expr.Field{F: f, Part: part}, Part: part, Size: size}
	if f.Kind == event.Str {
		c.Form = sent.Text
	}
	return c
}

// lay settles the columns of an event that is sent itself.
func (r *record) lay() {
	r.columns = nil
	for _, f := range r.Fields {
		own := f.F.Read != nil || f.F.Place == event.InMember && (ofProgram(f.F) || f.F.Member.OfRegister())
		switch {
		case !own && (f.F.Place != event.InRaw || r.Whole):
			refuse("field %s is not in the record", f.F.Name)
		case hook.IsUserText(f.F):
			refuse("field %s is computed of a sample", f.F.Name)
		case f.F.Kind == event.Array:
			refuse("field %s is neither a number nor a text", f.F.Name)
		}
		r.columns = append(r.columns, columnOf(f))
	}
	r.size = sent.Lay(r.columns, 0)
	if r.Context && !r.Whole {
		at := eval.Pad(r.size)
		r.columns, r.size = append(r.columns, sent.Column{Origin: sent.Context, Off: at, Size: 8}), at+8
	}
	r.layTexts()
	if r.size > mostSent {
		refuse("%d bytes of each event", r.size)
	}
}

// layPair settles the columns of a pair: the fixed ones, then stacks, fields
// and texts.
func (r *record) layPair(nested bool) {
	of := func(origin sent.Origin, part expr.Part, slot int) {
		r.columns = append(r.columns, sent.Column{Origin: origin, Part: part, Slot: slot, Size: 8})
	}
	r.columns = nil
	of(sent.Delay, expr.Start, 0)
	of(sent.Time, expr.End, 0)
	of(sent.Task, expr.Start, 0)
	of(sent.Context, expr.Start, 0)
	if nested {
		of(sent.Node, expr.Self, join.SlotNode)
		of(sent.Depth, expr.Self, join.SlotDepth)
		of(sent.SelfTime, expr.Self, join.SlotSelf)
	}
	of(sent.Context, expr.End, 0)
	for i, part := range []expr.Part{expr.Start, expr.End} {
		if r.stacked[i] {
			r.columns = append(r.columns, sent.Column{Origin: sent.Stack, Part: part, Size: load.StackKey})
		}
	}
	r.layFixed(mostSent)
	r.layTexts()
}

// layFixed adds the columns of fields, and settles the offsets of all columns:
// at most so many bytes.
func (r *record) layFixed(most int) {
	if r.Whole {
		refuse("whole records of pairs")
	}
	for _, f := range r.Fields {
		r.columns = append(r.columns, columnOf(f))
	}
	r.columns = append(r.columns, r.derived...)
	if r.size = sent.Lay(r.columns, 0); r.size > most {
		refuse("%d bytes of each pair", r.size)
	}
}

// layEmitted settles the columns of an event that a fold emits: all its values, and the key of the
// state if that is a number. Behind them are the two events between which it lies.
func (r *record) layEmitted(f *foldOp) {
	if r.Whole || len(r.Fields)+len(r.Texts) > 0 {
		refuse("fields of events that a fold works on")
	}
	if f.spec.Begin > 0 && !r.FoldContext {
		refuse("events that a fold keeps")
	}
	r.columns = nil
	for k, size := range f.emits {
		r.columns = append(r.columns, valueOf(&f.spec.Out.Schema.Fields[k], expr.Self, size))
	}
	if f.keyed() {
		r.columns = append(r.columns, sent.Column{Origin: sent.Key, Slot: len(f.emits), Size: 8})
	}
	if r.size = sent.Lay(r.columns, 0); r.size > mostSent {
		refuse("%d bytes of each emitted event", r.size)
	}
	if r.FoldContext {
		r.context = r.size
		r.size += 2 * (sent.MomentSize + f.context.size)
	}
}

// keyed reports that the key of a fold is one number.
func (f *foldOp) keyed() bool { return len(f.Cols) == 1 && !f.Cols[0].Text && !f.Cols[0].Stack }

// sends adds the columns of a sent pair that are known at its start to the
// waiting fields.
func (s *layout) sends(j *joinOp, p *pair, r *record) {
	r.derived = nil
	s.derives(j, r, p.start, expr.Start)
	s.derives(j, r, p.end, expr.End)
	start, end := s.sourceOf(p.start), s.sourceOf(p.end)
	if r.numbers != nil && len(start.serves) > 1 {
		j.Waits.Save(waits(sent.Function, p.start, true))
	}
	j.Waits.Save(waits(sent.Task, p.start, true))
	j.Waits.Save(waits(sent.Context, p.start, true))
	j.flags = j.flags || r.Context
	together := start != nil && end != nil && hook.TaskContext(start.Schema) && hook.TaskContext(end.Schema)
	if j.Late == nil {
		j.Late = map[int]bool{}
	}
	late, known := j.Late[p.start]
	j.Late[p.start] = together && (late || !known) // both events have one preemption count
	if r.Stacks {
		s.sendsStacks(j, p, r)
	}
	for _, f := range r.Fields {
		if f.Part == expr.Start {
			j.Waits.Save(fieldWaits(f, p.start, true))
		}
	}
}

// waits is a waiting field that is no field of the event: its thread, context,
// stack or function.
func waits(origin sent.Origin, input int, isSent bool) state.Field {
	c := sent.Column{Origin: origin, Of: tidNode, Part: expr.Start, Size: 8}
	f := state.Field{Column: c, Event: input, PairOnly: isSent}
	switch origin {
	case sent.Context:
		f.Of = cpuNode
	case sent.Stack:
		f.Size = load.StackKey
	}
	return f
}

// fieldWaits is a field of an event as it waits and is sent: padded to whole
// words.
func fieldWaits(f *expr.Field, input int, isSent bool) state.Field {
	c := columnOf(&expr.Field{F: f.F, View: f.View})
	c.Part, c.Size = expr.Start, eval.Pad(c.Size)
	return state.Field{Column: c, Event: input, PairOnly: isSent}
}

// derives adds the columns of a part of a pair that is itself a derived event: of a pair its
// delay, its key and its values in nested calls, of a fold's event the emitted values. Columns
// of starts wait.
func (s *layout) derives(j *joinOp, r *record, input int, part expr.Part) {
	if s.sourceOf(input) != nil {
		return
	}
	schema := s.schemaOf(input)
	for i := range schema.Fields {
		f := &schema.Fields[i]
		if f.Kind != event.Int && f.Kind != event.Str || f.Stack() {
			refuse("field %s of %s is neither a number nor a text", f.Name, schema.Name)
		}
		c := valueOf(f, part, 8)
		own := &expr.Field{F: f}
		if c.Form == sent.Text {
			s.origins(input, func(_ *source, in eval.Env) { c.Size = max(c.Size, in.FieldRoom(own)) })
		}
		if part == expr.Start {
			wait := state.Field{Column: c, Event: input}
			wait.Of = own
			j.Waits.Save(wait)
			c.Off = j.Waits.Fields[j.savedAt(input, &wait.Column)].Off
		}
		r.derived = append(r.derived, c)
	}
}

// schemaOf is the schema of an input.
func (s *layout) schemaOf(input int) *event.Schema {
	if e := s.sourceOf(input); e != nil {
		return e.Schema
	}
	m := &s.derived[input-len(s.sources)]
	if m.fold != nil {
		return m.fold.spec.Out.Schema
	}
	return pairsOf(m.join.spec, s.streamOf(m.start), s.streamOf(m.end)).Schema
}

// numberSent numbers the streams of derived events that leave the kernel. The numbers follow
// the numbers of the events.
func (s *layout) numberSent() {
	for i, r := range s.sentDerived() {
		r.stream = len(s.sources) + i
	}
}

// sentDerived lists the records of derived events that leave the kernel, in the order of Records.
func (s *layout) sentDerived() (list []*record) {
	for _, j := range s.joins {
		for k := range j.pairs {
			for _, f := range j.pairs[k].feeds {
				if f.emit != nil {
					f.emit.pair = true
					list = append(list, f.emit)
				}
			}
		}
	}
	for _, o := range s.folds {
		for _, f := range o.feeds {
			if f.emit != nil {
				f.emit.emitted = true
				list = append(list, f.emit)
			}
		}
	}
	for _, j := range s.joins {
		for i := range j.unpaired {
			list = append(list, j.unpaired[i].record())
		}
	}
	return list
}

// Projection describes how the sent columns of an event become its record again; nil if
// the event is not sent.
func (im *Image) Projection(e int) *sent.Projection {
	s := im.layout.sources[e]
	for k := range s.feeds {
		r := s.feeds[k].emit
		if r == nil {
			continue
		}
		p := sent.ProjectOwn(s.Schema, r.columns, r.Whole, r.size)
		for _, n := range r.Texts {
			if f, ok := n.(*expr.Field); ok && f.F.Place == event.InMember && f.F.Member.OfRegister() {
				p.Addresses[f.F.Member] = true
			}
		}
		p.Texts = r.fixedPart()
		return p
	}
	// The event is sent only as a part of a pair, or of an event that a fold
	// emits.
	switch {
	case s.Probe != nil || len(s.keptReads()) > 0:
		return &sent.Projection{Words: sent.WordsOf(s.Schema, s.keptReads()...)}
	case s.partTexts:
		return &sent.Projection{PartTexts: true}
	}
	return nil
}

// Records describes the sent records of derived events: pairs, events that folds emit, and
// unpaired events. Inputs are indices in Part.Events; streams are indices in the plan.
func (im *Image) Records() (records []sent.Record, streams []int) {
	s := im.layout
	add := func(st *event.Stream, r sent.Record) {
		r.Schema, r.Label = st.Schema, st.Label
		records, streams = append(records, r), append(streams, st.Index)
	}
	for _, j := range s.joins {
		every, lead := j.all(s)
		for k := range every {
			p := &every[k]
			for i := range p.feeds {
				r := lead(p).feeds[i].emit
				if r == nil {
					continue
				}
				slots := 1
				if j.spec.Nested {
					slots = join.SlotSelf + 1
				}
				add(pairsOf(j.spec, s.streamOf(p.start), s.streamOf(p.end)), sent.Record{Columns: r.columns,
					Slots: slots, Start: s.part(p.start), End: s.part(p.end), Texts: r.fixedPart()})
			}
		}
	}
	for _, f := range s.folds {
		for _, feed := range f.feeds {
			if feed.emit != nil {
				add(f.spec.Out, f.describe(s, feed.emit))
			}
		}
	}
	for _, j := range s.joins {
		of, ofStreams, _ := im.Unpaired(j.spec)
		records, streams = append(records, of...), append(streams, ofStreams...)
	}
	return records, streams
}

// part describes an input as a part of a record.
func (s *layout) part(input int) *sent.Part {
	p := &sent.Part{Input: input}
	if s.sourceOf(input) == nil {
		// Its index follows the indices of the events, in the order of the
		// plan.
		schema := s.schemaOf(input)
		p.Stream = &event.Stream{Index: len(s.sources) + s.streamOf(input), Schema: schema,
			Label: schema.FullName()}
	}
	return p
}

// describe describes the records of the events that a fold emits.
func (f *foldOp) describe(s *layout, r *record) sent.Record {
	of := sent.Record{Columns: r.columns, Slots: len(f.emits) + int(event.Bit(f.keyed()))}
	if r.FoldContext {
		of.Columns = slices.Clone(r.columns)
		of.Start = f.context.part(s, r, expr.Start, &of.Columns)
		of.End = f.context.part(s, r, expr.End, &of.Columns)
	}
	return of
}

// Origins lists the sources whose events reach a join, directly or through
// other operators, as indices in Part.Events.
func (im *Image) Origins(of *join.Spec) (list []int) {
	s := im.layout
	var add func(input int)
	takers := func(found func(*feed) bool) {
		s.taking(found, func(e *source, _ eval.Env, _ *feed) { add(slices.Index(s.sources, e)) })
	}
	add = func(input int) {
		switch {
		case input < len(s.sources):
			if !slices.Contains(list, input) {
				list = append(list, input)
			}
		case s.derived[input-len(s.sources)].fold != nil:
			fold := s.derived[input-len(s.sources)].fold
			takers(func(f *feed) bool { return f.fold == fold })
		default:
			m := &s.derived[input-len(s.sources)]
			add(m.start)
			add(m.end)
		}
	}
	for _, j := range s.joins {
		if j.spec == of {
			for i := range s.inputs() {
				if stream := s.streamOf(i); stream < len(of.In) && of.In[stream].Stage >= 0 {
					add(i)
				}
			}
		}
	}
	return list
}

// reads lists the fields of the record that programs read from the kernel's
// memory.
func (r *record) reads() (all []event.Member) {
	for _, f := range r.Fields {
		if f.F.Read != nil {
			all = append(all, f.F.Member)
		}
	}
	return all
}

// whole reports that the event's whole record is sent.
func (e *source) whole() bool {
	return slices.ContainsFunc(e.feeds, func(f feed) bool { return f.emit != nil && f.emit.Whole })
}

// emits reports that the event is sent itself.
func (e *source) emits() bool {
	return slices.ContainsFunc(e.feeds, func(f feed) bool { return f.emit != nil })
}
