package mergeable

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file reads values and stacks.

func (d *decoder) value(b []byte) event.Value {
	if d.depth++; d.depth > maxDepth {
		d.fail("lists in lists")
		return event.Value{}
	}
	defer func() { d.depth-- }()
	var kind event.ValueKind
	var num uint64
	var text string
	var list []event.Value
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			kind = event.ValueKind(min(m.num, 255))
		case 2:
			num = m.num
		case 3:
			text = m.text()
		case 4:
			list = append(list, d.value(m.bytes))
		}
	})
	n := protowire.DecodeZigZag(num)
	switch kind {
	case event.None:
		return event.Value{}
	case event.IntValue:
		return event.IntOf(n)
	case event.UintValue:
		return event.UintOf(num)
	case event.BoolValue:
		return event.BoolOf(num != 0)
	case event.FloatValue:
		return event.FloatOf(math.Float64frombits(num))
	case event.StrValue:
		return event.StrOf(text)
	case event.DurationValue:
		return event.DurationOf(n)
	case event.TimeValue:
		return event.TimeOf(event.Time(n))
	case event.ListValue:
		return event.ListOf(list...)
	}
	d.fail("got a value of kind %d", kind)
	return event.Value{}
}

// number makes a number of its kind and its bits. Empty measures have numbers of kind None.
func (d *decoder) number(kind, word uint64) event.Number {
	k := event.ValueKind(min(kind, 255))
	switch k {
	case event.UintValue, event.FloatValue, event.BoolValue:
		return event.NumberOf(k, int64(word))
	case event.None, event.IntValue, event.DurationValue, event.TimeValue:
		return event.NumberOf(k, protowire.DecodeZigZag(word))
	}
	d.fail("got a number of kind %d", kind)
	return event.Number{}
}

// numberOf reads a value that must be a number or empty.
func (d *decoder) numberOf(m *member) event.Number {
	v := d.value(m.bytes)
	n, ok := v.Number()
	if !ok && v.Kind != event.None {
		d.fail("got a text or a list, want a number")
		return event.Number{}
	}
	return n
}

func (d *decoder) stacks(b []byte) *result.Stacks {
	s := &result.Stacks{}
	var frames []*result.Frame
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			c := d.column(m.bytes)
			c.Kind = result.KeyColumn
			s.Keys = append(s.Keys, c)
		case 2:
			s.Value = m.text()
		case 3:
			s.Unit = d.unit(m.bytes)
		case 4:
			frames = append(frames, d.function(m.bytes))
		case 5:
			s.Samples = append(s.Samples, d.sample(m.bytes, frames))
		case 6:
			s.Cut = m.num
		case 7:
			s.Unwound = m.num
		case 8:
			s.Periods = m.num != 0
		}
	})
	for i := range s.Samples {
		if len(s.Samples[i].Key) != len(s.Keys) && d.err == nil {
			d.fail("stack %d has %d keys of %d", i+1, len(s.Samples[i].Key), len(s.Keys))
		}
	}
	return s
}

func (d *decoder) sample(b []byte, frames []*result.Frame) result.StackSample {
	x := result.StackSample{PID: -1}
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			x.Key = append(x.Key, d.value(m.bytes))
		case 2:
			for _, i := range d.packed(m.bytes) {
				if i >= uint64(len(frames)) {
					d.fail("a stack has function %d of %d", i, len(frames))
					return
				}
				x.Frames = append(x.Frames, frames[i])
			}
		case 3:
			x.Count = m.num
		case 4:
			x.Value = m.int()
		case 5:
			x.Cut = m.num != 0
		}
	})
	return x
}

func (d *decoder) function(b []byte) *result.Frame {
	f := &result.Frame{}
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			f.Symbol = m.text()
		case 2:
			f.DSO = m.text()
		case 3:
			f.BuildID = m.text()
		case 4:
			f.File = m.text()
		case 5:
			f.Line = d.small(m.num)
		case 6:
			f.Inline, f.Kernel = m.num&flagInline != 0, m.num&flagKernel != 0
		case 7:
			f.FileAddr = m.num
		}
	})
	return f
}
