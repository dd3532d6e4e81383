package eventview

import (
	"encoding/binary"

	"ppscript/runtime/event"
)

// This file reads numeric attributes without making a Starlark value.

// Unit is the unit of the attribute; number is false if it is not a number of 64
// bits.
func (a *Access) Unit() (u event.Unit, number bool) {
	switch a.How {
	case howPID, howTID, howCPU, howI32, howU32, howInt:
		return event.NoUnit, true
	case howNanos, HowDelay:
		return event.Nanos, true
	case howTime, howMoment:
		return event.Moment, true
	}
	return 0, false
}

// Word reads the attribute; ok is false if Load would return something other
// than a number.
func (a *Access) Word(e *event.Event) (n int64, ok bool) {
	switch a.How {
	case howTime:
		return int64(e.Time), true
	case howPID:
		return int64(e.PID), true
	case howTID:
		return int64(e.TID), true
	case howCPU:
		return int64(e.CPU), true
	case howI32, howU32:
		off := a.Field.Offset
		if off < 0 || off+4 > len(e.Raw) {
			return 0, false
		}
		w := binary.LittleEndian.Uint32(e.Raw[off:])
		if a.How == howI32 {
			return int64(int32(w)), true
		}
		return int64(w), true
	case HowDelay:
		d := e.Derived
		if d == nil || d.Start == nil || d.End == nil {
			return 0, false
		}
		return int64(d.End.Time - d.Start.Time), true
	}
	return a.Field.Int(e)
}
