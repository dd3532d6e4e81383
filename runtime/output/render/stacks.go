package render

import (
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// This file writes samples by stack as text and JSON. Files for other tools
// have separate writers.

// stacks writes a block for each sample:
//
//	40 samples (80.0%), 4096 bytes, comm cat:
//	    ffffffff81630014 __kmalloc_noprof+0x244 ([kernel.kallsyms])
func (r *textRenderer) stacks(s *result.Stacks) error {
	if len(s.Samples) == 0 && s.Omitted == 0 && s.Silent() {
		return r.err
	}
	r.heading(&s.Meta, false)
	count, value := s.Total()
	if s.Totals {
		r.buf = append(r.buf, "total "...)
		r.amounts(s, count, value, 0, 0)
		r.buf = append(r.buf, '\n')
	}
	for i := range s.Samples {
		x := &s.Samples[i]
		r.amounts(s, x.Count, x.Value, count, value)
		for k := range s.Keys {
			if k < len(x.Key) {
				r.buf = plain.Append(append(r.buf, ", "...), s.Keys[k].Name)
				r.buf = append(r.buf, ' ')
				from := len(r.buf)
				r.buf = plain.Tail(appendCell(r.buf, &s.Keys[k], x.Key[k], event.Value{}, &r.line), from)
			}
		}
		r.buf = append(r.buf, ":\n"...)
		r.buf = appendFrameLines(r.buf, x.CallStack)
		if err := r.spill(); err != nil {
			return err
		}
	}
	if s.Omitted > 0 {
		n := len(s.Samples)
		r.buf = strconv.AppendInt(append(r.buf, "Skipping stacks numbered "...), int64(n+1), 10)
		r.buf = strconv.AppendInt(append(r.buf, ".."...), int64(n+s.Omitted), 10)
		r.buf = append(r.buf, '\n')
	}
	if s.Cut > 0 {
		r.buf = strconv.AppendUint(append(r.buf, '('), s.Cut, 10)
		r.buf = append(r.buf, " of the samples with a stack that is cut)\n"...)
	}
	r.missing(&s.Meta, len(s.Samples)+s.Omitted, 0, "stack")
	return r.spill()
}

// amounts writes "4096 bytes in 40 samples", with the shares of the totals if
// these are not 0.
func (r *textRenderer) amounts(s *result.Stacks, count uint64, value int64, allCount uint64, allValue int64) {
	if s.Value != "" {
		r.buf = appendNumber(r.buf, amount(s, value), s.Unit, result.UnitPrec)
		if s.Unit.Symbol != "" {
			r.buf = plain.Append(append(r.buf, ' '), s.Unit.Symbol)
		}
		r.buf = appendPercent(r.buf, float64(value), float64(allValue))
		r.buf = plain.Append(append(r.buf, ' '), s.Value)
		r.buf = append(r.buf, " in "...)
	}
	r.buf = strconv.AppendUint(r.buf, count, 10)
	r.buf = append(r.buf, " sample"...)
	if count != 1 {
		r.buf = append(r.buf, 's')
	}
	r.buf = appendPercent(r.buf, float64(count), float64(allCount))
}

// amount converts a sum of values to a Value that prints in the unit.
func amount(s *result.Stacks, v int64) event.Value {
	if s.Unit.Base == "ns" && s.Unit.Scale == 0 {
		return event.DurationOf(v)
	}
	return event.IntOf(v)
}

func appendPercent(dst []byte, part, whole float64) []byte {
	if whole == 0 {
		return dst
	}
	dst = strconv.AppendFloat(append(dst, " ("...), 100*part/whole, 'f', 1, 64)
	return append(dst, "%)"...)
}

// stacks writes a record of type stacks.
func (r *jsonRenderer) stacks(s *result.Stacks) error {
	r.begin("stacks")
	r.meta(&s.Meta)
	names := memberNames(s.Keys)
	r.buf = appendColumns(r.buf, "keys", s.Keys, names, stackKeys(s))
	if s.Value != "" {
		r.buf = appendJSONString(append(r.buf, `,"value":`...), s.Value)
		r.buf = appendUnit(r.buf, s.Unit)
	}
	r.buf = append(r.buf, `,"stacks":[`...)
	of := shareOf(s.Keys)
	var list frameList
	for i := range s.Samples {
		x := &s.Samples[i]
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = append(r.buf, `{"key":{`...)
		r.cells(s.Keys, names, x.Key, of)
		r.buf = strconv.AppendInt(append(r.buf, `},"pid":`...), int64(x.PID), 10)
		r.buf = strconv.AppendUint(append(r.buf, `,"count":`...), x.Count, 10)
		if s.Value != "" {
			r.buf = strconv.AppendInt(append(r.buf, `,"value":`...), x.Value, 10)
		}
		if r.page {
			r.buf = list.append(r.buf, x)
		} else {
			r.frames(x.CallStack)
		}
		r.buf = append(r.buf, '}')
		if err := r.spill(); err != nil {
			return err
		}
	}
	r.buf = append(r.buf, ']')
	if r.page {
		r.frameMembers(&list)
	}
	count, value := s.Total()
	r.buf = strconv.AppendUint(append(r.buf, `,"total_count":`...), count, 10)
	if s.Value != "" {
		r.buf = strconv.AppendInt(append(r.buf, `,"total_value":`...), value, 10)
	}
	if s.Cut > 0 {
		r.buf = strconv.AppendUint(append(r.buf, `,"cut":`...), s.Cut, 10)
	}
	if s.Unwound > 0 {
		r.buf = strconv.AppendUint(append(r.buf, `,"unwound":`...), s.Unwound, 10)
	}
	r.omitted(s.Omitted)
	return r.end()
}

// stackKeys returns the keys of all samples.
func stackKeys(s *result.Stacks) [][]event.Value {
	keys := make([][]event.Value, len(s.Samples))
	for i := range s.Samples {
		keys[i] = s.Samples[i].Key
	}
	return keys
}
