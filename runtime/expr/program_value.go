package expr

import (
	"math"

	"ppscript/runtime/event"
)

// number types the 64 bits of a numeric program's value as Value does.
func (p *Program) number(bits uint64) event.Value {
	switch p.Type.Kind {
	case Bool:
		return event.BoolOf(bits != 0)
	case Float:
		return event.FloatOf(math.Float64frombits(bits))
	}
	if f, ok := p.Field(); ok {
		return fieldNumber(f, bits)
	}
	if p.Type.Unsigned {
		return event.UintOf(bits)
	}
	return event.IntOf(int64(bits))
}

// fieldNumber types the value of an integer field.
func fieldNumber(f *event.Field, bits uint64) event.Value {
	switch {
	case f.Unit == event.Nanos:
		return event.DurationOf(int64(bits))
	case f.Unit == event.Moment:
		return event.TimeOf(event.Time(bits))
	case !f.Signed && f.Size == 8:
		return event.UintOf(bits)
	}
	return event.IntOf(int64(bits))
}
