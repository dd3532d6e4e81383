package tracedat

import (
	"fmt"
	"ppscript/runtime/source/bytecursor"
	"strconv"
	"strings"
)

// Identifiers of options in both versions, from trace-cmd's source.
const (
	optionDone      = 0
	optionDate      = 1
	optionStat      = 2
	optionBuffer    = 3
	optionClock     = 4
	optionUname     = 5
	optionOffset    = 7
	optionCPUs      = 8
	optionVersion   = 9
	optionTimeShift = 12
	optionGuest     = 13
	optionTSC       = 14
	optionText      = 22
	optionLast      = 64 // larger identifiers are invalid
)

// options reads the options of a file, which describe how and on which machine
// it was recorded.
type options struct {
	file      *File
	seven     bool
	cpus      int
	text      bool              // the file has the output of a latency tracer
	instances []instance        // of version 6
	sections  map[uint16]uint64 // of version 7: the offset of each, by its identifier
}

// take reads one option. A damaged option is left out, with a warning: records
// can be decoded without it, unless it has the offset of the records.
func (o *options) take(id uint16, body []byte) {
	f := o.file
	c := &bytecursor.Cursor{B: body}
	switch id {
	case optionBuffer:
		o.buffer(c)
	case optionClock:
		f.Clock = chosenClock(text(body))
	case optionUname:
		f.Uname = text(body)
	case optionVersion:
		f.Writer = text(body)
	case optionCPUs:
		o.cpus = int(c.U32())
	case optionStat:
		f.Overrun += overrun(text(body))
	case optionDate:
		// Microseconds.
		n, err := number(text(body))
		f.WallNS, c.Err = n*1000, err
	case optionOffset:
		f.clock.offset, c.Err = number(text(body))
	case optionTimeShift:
		f.clock.shift(c)
	case optionTSC:
		f.clock.mult, f.clock.bits = c.U32(), c.U32() // an offset follows, which trace-cmd does not use
	case optionGuest:
		f.Guests = append(f.Guests, c.CStr())
	case optionText:
		o.text = true
	default:
		if o.seven && id >= sectionHeader && id < optionLast {
			at := c.U64()
			if _, seen := o.sections[id]; !seen && c.Err == nil {
				o.sections[id] = at
			}
		}
	}
	if c.Err != nil {
		f.warn("option %d: %v", id, c.Err)
	}
}

// buffer reads the offsets of a ring buffer's records.
func (o *options) buffer(c *bytecursor.Cursor) {
	const maxBuffers = 1024
	off := c.U64()
	name := text(c.B)
	if !o.seven {
		if c.Err == nil && len(o.instances) < maxBuffers {
			o.instances = append(o.instances, instance{name, off})
		}
		return
	}
	b := Buffer{Name: c.CStr(), Clock: chosenClock(c.CStr()), page: int(c.U32())}
	compressed := o.file.compressedAt(off)
	for range c.Count(20) {
		s := section{cpu: int32(c.U32()), off: c.U64(), size: c.U64(), compressed: compressed}
		if c.Err == nil {
			c.Err = o.file.add(&b, s)
		}
		if c.Err != nil {
			return
		}
	}
	if c.Err == nil && len(o.file.Buffers) < maxBuffers {
		o.file.Buffers = append(o.file.Buffers, b)
	}
}

// compressedAt reports that the section at this offset is compressed, according
// to its head.
func (f *File) compressedAt(at uint64) bool {
	if at > uint64(len(f.b)) {
		return false
	}
	c := &bytecursor.Cursor{B: f.b[at:]}
	c.U16()
	return c.U16()&flagCompressed != 0
}

// chosenClock returns the clock in brackets of "[local] global counter". A name
// alone is returned unchanged.
func chosenClock(list string) string {
	if _, rest, ok := strings.Cut(list, "["); ok {
		name, _, _ := strings.Cut(rest, "]")
		return name
	}
	return strings.TrimSpace(list)
}

// overrun returns the number of records that a CPU lost, from the text of
// tracefs's per_cpu/cpuN/stats.
func overrun(stats string) (n uint64) {
	for line := range strings.Lines(stats) {
		name, value, _ := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); name == "overrun" || name == "dropped events" {
			if v, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64); err == nil {
				n += v
			}
		}
	}
	return n
}

// number parses a decimal or hexadecimal number with a sign. trace-cmd writes
// some negative numbers as 64 bits in hexadecimal, without a sign.
func number(s string) (int64, error) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return n, nil
	}
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("got %q, want a number", s)
	}
	return int64(n), nil
}
