package placement

import (
	"encoding/binary"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/key"
)

// This file lets the kernel group by keys that only ppscript can compute: the
// name of a system call, an exit reason, a symbol. The kernel groups by the
// numbers that the key is computed from; when rows are read, the key is
// evaluated on an event that holds just these numbers, and rows of the same key
// add up.
//
// Each member of a tuple is a column of its own. A text that is one of several
// constants becomes its number among them, since the kernel counts small numbers
// in an array.

// tableKey is the key of one table, column by column.
type tableKey struct {
	cols  []deferredCol
	keys  [][]*expr.Program // by stream: the columns that the kernel groups by
	self  *event.Stream     // stream of the made event that the key is evaluated on
	sizes [3]int            // of the records, by expr.Part
	slots int
}

// Keys computes the keys of one table on events that it fills. It serves one
// goroutine at a time.
type Keys struct {
	*tableKey
	parts [3]*event.Event // by expr.Part
	frame expr.Frame
}

// A deferredCol is a column of the plan's key: one that the kernel has too, or
// a function of columns that the kernel has.
type deferredCol struct {
	text   bool // the kernel's column is a text
	prog   *expr.Program
	leaves []*expr.Field
	words  []*expr.Program // constant texts, of which the kernel has the number
	// noDigits removes the digits at the end of the kernel's text.
	noDigits bool
}

// same reports that two columns have the same meaning, also for different
// events.
func (c *deferredCol) same(o *deferredCol) bool {
	if c.prog != nil && o.prog != nil {
		// The cgroup's name has the same meaning for all events.
		a, is := c.prog.Node.(*expr.Field)
		b, too := o.prog.Node.(*expr.Field)
		return is && too && a.F == b.F && a.Part == b.Part && asksCgroup(a)
	}
	return c.prog == nil && o.prog == nil && c.text == o.text && c.noDigits == o.noDigits &&
		slices.EqualFunc(c.words, o.words, func(a, b *expr.Program) bool {
			return a.Node.String() == b.Node.String()
		})
}

// maxLeaves bounds the numbers of one key.
const maxLeaves = 4

// deferKeys is the group that programs count by for events of a stream: spec
// itself, or a group with numeric keys, from which d computes the keys of spec.
func deferKeys(spec *agg.Spec, stream int, part func(expr.Part) *event.Schema) (*agg.Spec, *tableKey, error) {
	d := &tableKey{}
	numbers := *spec
	numbers.Keys = nil
	some := false
	add := func(p *expr.Program) {
		each := make([]*expr.Program, stream+1)
		each[stream] = p
		d.keys = append(d.keys, each)
	}
	for _, fn := range spec.Keys {
		whole := fn.At(stream)
		if err := compiled(whole); err != nil {
			return nil, nil, err
		}
		elems := []*expr.Program{whole}
		if whole.Type.Kind == expr.Tuple {
			elems, some = whole.Elems, true
		}
		for _, p := range elems {
			n := p.Node
			if number, words := choice(n); number != nil {
				some = true
				d.cols = append(d.cols, deferredCol{words: words})
				add(expr.Build(number))
				continue
			}
			if f, ok := n.(*expr.Field); ok && f.Is(event.MemberCommNoDigit) {
				some = true
				d.cols = append(d.cols, deferredCol{text: true, noDigits: true})
				add(expr.Build(&expr.Field{F: comm, Part: f.Part}))
				continue
			}
			if HostCall(n) == nil && !asksCgroup(n) {
				d.cols = append(d.cols, deferredCol{text: n.Type().Kind == expr.Str})
				add(p)
				continue
			}
			leaves, err := leavesOf(n, part)
			if err != nil {
				return nil, nil, err
			}
			some = true
			d.cols = append(d.cols, deferredCol{prog: p, leaves: leaves})
			for _, l := range leaves {
				add(expr.Build(l))
			}
		}
	}
	if !some {
		return spec, nil, nil
	}
	for _, each := range d.keys {
		numbers.Keys = append(numbers.Keys, flow.NewFn(each, stream))
	}
	return &numbers, d, nil
}

// share adds the events of a stream, whose key is o, to the events that d's columns are
// made of; false if the columns differ.
func (d *tableKey) share(numbers *agg.Spec, o *tableKey, stream int) bool {
	if o == nil || !slices.EqualFunc(d.cols, o.cols, func(a, b deferredCol) bool { return a.same(&b) }) {
		return false
	}
	for i, each := range d.keys {
		for len(each) <= stream {
			each = append(each, nil)
		}
		each[stream] = o.keys[i][stream]
		d.keys[i], numbers.Keys[i] = each, flow.NewFn(each, -1)
	}
	return true
}

// comm and cgroupID are the sample members that others are computed from.
var (
	comm     = member("_comm")
	cgroupID = member("cgroup_id")
)

func member(name string) *event.Field {
	f, ok := new(event.Schema).Field(name)
	if !ok {
		panic("BUG: no member " + name)
	}
	return f
}

// asksCgroup reports that n reads the container, pod or unit of an event, which
// only ppscript knows.
func asksCgroup(n expr.Node) bool {
	for _, f := range expr.UsesOf(n).Fields {
		if f.F.Place == event.InMember && f.F.Member.OfCgroup() {
			return true
		}
	}
	return false
}

// maxWords bounds the constant texts that a column chooses from.
const maxWords = 256

// choice is the number of a text that is one of some constants, and these; nil if n
// is no such text.
func choice(n expr.Node) (number expr.Node, words []*expr.Program) {
	if _, ok := n.(*expr.Cond); !ok || n.Type().Kind != expr.Str {
		return nil, nil
	}
	var texts []string
	var numbered func(n expr.Node) expr.Node
	numbered = func(n expr.Node) expr.Node {
		switch n := n.(type) {
		case *expr.Const:
			i := slices.Index(texts, n.Str)
			if i < 0 {
				i, texts = len(texts), append(texts, n.Str)
			}
			return expr.NewInt(int64(i))
		case *expr.Cond:
			then, other := numbered(n.Then), numbered(n.Else)
			if then == nil || other == nil {
				return nil
			}
			return &expr.Cond{Test: n.Test, Then: then, Else: other}
		}
		return nil
	}
	number = numbered(n)
	if number == nil || len(texts) > maxWords || HostCall(number) != nil || asksCgroup(number) {
		return nil, nil
	}
	for _, s := range texts {
		words = append(words, expr.Build(expr.NewStr(s)))
	}
	return number, words
}

// HostCall finds a call in n that ppscript computes itself; nil if there is none.
func HostCall(n expr.Node) (found *expr.Native) {
	if n == nil {
		return nil
	}
	expr.Walk(n, func(n expr.Node) bool {
		if c, ok := n.(*expr.Native); ok && (c.Kernel == nil || c.Is(expr.AsksThreads)) {
			found = c
		}
		return found == nil
	})
	return found
}

// leavesOf lists the numbers that n is computed from.
func leavesOf(n expr.Node, part func(expr.Part) *event.Schema) ([]*expr.Field, error) {
	var leaves []*expr.Field
	var err error
	add := func(f *expr.Field) {
		if f.F.Place == event.InMember && f.F.Member.OfCgroup() {
			f = &expr.Field{F: cgroupID, Part: f.Part}
		}
		for _, have := range leaves {
			if have.F == f.F && have.Part == f.Part {
				return
			}
		}
		if f.Part > expr.End || f.View != expr.ViewValue || f.F.Kind != event.Int || !settable(f.F) {
			err = not("a key is computed from %s", f)
		}
		leaves = append(leaves, f)
	}
	expr.Walk(n, func(n expr.Node) bool {
		switch n := n.(type) {
		case *expr.Field:
			add(n)
		case *expr.Native:
			switch {
			case n.Effect || n.Is(expr.ReadsNow):
				err = not("%s() must see the event when it comes", n.Name)
			case n.Is(expr.ReadsRecord):
				for _, f := range namedBy(n) {
					add(f)
				}
			}
		case *expr.Mem, *expr.CStr, *expr.MemBytes, *expr.LoadState, *expr.LoadElem:
			err = not("a key is computed from memory of the event")
		}
		return err == nil
	})
	if err == nil && len(leaves) > maxLeaves {
		err = not("a key is computed from %d fields", len(leaves))
	}
	return leaves, err
}

// settable reports that an event that an operator makes can hold the field.
func settable(f *event.Field) bool {
	switch f.Place {
	case event.InRaw:
		return f.Offset >= 0 && (f.Size == 1 || f.Size == 2 || f.Size == 4 || f.Size == 8)
	case event.InSlot:
		return f.Kind == event.Int
	case event.InMember:
		switch f.Member {
		case event.MemberPID, event.MemberTID, event.MemberCPU, event.MemberCgroup:
			return true
		}
	}
	return false
}

// namedBy lists the fields that a print fmt needs to name a value: the field
// itself, and the fields that choose between tables of names.
func namedBy(n *expr.Native) []*expr.Field {
	d := n.Data.(*expr.NameOf)
	part := n.Args[0].(*expr.Field).Part
	args, err := c.ParseArgs(d.Schema.PrintFmt)
	if err != nil {
		return nil
	}
	var found []*expr.Field
	for _, a := range args[min(1, len(args)):] {
		p, err := cexpr.CompileTree(a, &expr.Scope{Schema: d.Schema})
		if err != nil {
			continue
		}
		var fields []*expr.Field
		mine := false
		expr.Walk(p.Node, func(x expr.Node) bool {
			if f, ok := x.(*expr.Field); ok {
				fields = append(fields, &expr.Field{F: f.F, Part: part, View: f.View})
				mine = mine || f.F.Name == d.Field
			}
			return true
		})
		if mine {
			found = append(found, fields...)
		}
	}
	return found
}

// Key computes the key of the plan's group from the key of a row that programs
// counted; false if that is impossible.
func (d *Keys) Key(row []byte) ([]byte, bool) {
	var packed []byte
	rest := row
	for i := range d.cols {
		col := &d.cols[i]
		if col.words != nil {
			n := binary.LittleEndian.Uint64(rest)
			packed, rest = key.Append(packed, col.words[n], &d.frame), rest[8:]
			continue
		}
		if col.prog == nil {
			n := 8
			if col.text {
				n = 4 + int(binary.LittleEndian.Uint32(rest))
			}
			if col.noDigits {
				packed, rest = key.AppendText(packed, event.NoDigits(string(rest[4:n]))), rest[n:]
				continue
			}
			packed, rest = append(packed, rest[:n]...), rest[n:]
			continue
		}
		for _, l := range col.leaves {
			d.set(l, binary.LittleEndian.Uint64(rest))
			rest = rest[8:]
		}
		d.frame.Reset(d.parts[expr.Self])
		packed = key.Append(packed, col.prog, &d.frame)
		if d.frame.Err != nil {
			return nil, false
		}
	}
	return packed, true
}

// set puts a number into its field of an event that an operator makes.
func (d *Keys) set(l *expr.Field, v uint64) {
	e := d.parts[l.Part]
	if l.F.Place == event.InSlot {
		e.Derived.Slots[l.F.Offset] = event.IntOf(int64(v))
		return
	}
	switch l.F.Member {
	case event.MemberPID:
		e.PID = int32(v)
	case event.MemberTID:
		e.TID = int32(v)
	case event.MemberCPU:
		e.CPU = int32(v)
	case event.MemberCgroup:
		cgroupOf(e).id = v
	default:
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		copy(e.Raw[l.F.Offset:l.F.Offset+l.F.Size], b[:])
	}
}

// A keyCgroup gives an event that an operator makes its cgroup.
type keyCgroup struct{ id uint64 }

// cgroupOf sets the cgroup of an event that an operator makes. At the first call, the event gets a copy
// of the instance's stream, with the names that the session set there.
func cgroupOf(e *event.Event) *keyCgroup {
	own, ok := e.Stream.Members.(*keyCgroup)
	if !ok {
		own = &keyCgroup{}
		stream := *e.Stream
		stream.Members, e.Stream = own, &stream
	}
	return own
}

// Member implements event.Members.
func (c *keyCgroup) Member(_ *event.Event, f event.Member) (uint64, bool) {
	return c.id, f == event.MemberCgroup
}

// Callchain implements event.Members.
func (c *keyCgroup) Callchain(*event.Event) []uint64 { return nil }

// finish settles the events that keys are evaluated on.
func (d *tableKey) finish(self *event.Stream, part func(expr.Part) *event.Schema) {
	d.self = self
	for p := range d.sizes {
		d.sizes[p] = 64
		s := part(expr.Part(p))
		if s == nil {
			continue
		}
		d.sizes[p] = max(d.sizes[p], s.Size)
		for i := range s.Fields {
			d.sizes[p] = max(d.sizes[p], s.Fields[i].Offset+s.Fields[i].Size)
		}
	}
	if s := part(expr.Self); s != nil {
		d.slots = len(s.Fields)
	}
}

// Keys makes the Keys of each group that programs count by other keys. own returns
// the instance's copy of a stream.
func (k *Kernel) Keys(own func(*event.Stream) *event.Stream) map[*agg.Spec]*Keys {
	all := map[*agg.Spec]*Keys{}
	for spec, g := range k.groups {
		d := g.deferred
		if d == nil {
			continue
		}
		run := &Keys{tableKey: d}
		for p, size := range d.sizes {
			run.parts[p] = &event.Event{
				Stream: own(d.self),
				Raw:    make([]byte, size),
				PID:    -1,
				TID:    -1,
				CPU:    -1,
			}
		}
		run.parts[expr.Self].Derived = &event.Derived{
			Start: run.parts[expr.Start],
			End:   run.parts[expr.End],
			Slots: make([]event.Value, d.slots),
		}
		all[spec] = run
	}
	return all
}
