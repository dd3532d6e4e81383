package tracedat

import (
	"fmt"
	"ppscript/runtime/source/bytecursor"
)

// This file reads the head of version 6, whose parts are adjacent.

// Names of the parts after the description, with their padding.
const (
	optionsPart = "options  \x00"
	latencyPart = "latency  \x00"
	recordsPart = "flyrecord\x00"
)

func (f *File) parse6(c *bytecursor.Cursor) {
	f.headerInfo(c)
	f.formats(c, "ftrace")
	f.systems(c)
	f.Kallsyms = string(c.Take(uint64(c.U32())))
	f.Printk = string(c.Take(uint64(c.U32())))
	f.Cmdlines = string(c.Blob())
	f.CPUs = int(c.U32())
	top := Buffer{}
	f.records6(c, &top, f.CPUs, true)
	f.Buffers = append([]Buffer{top}, f.Buffers...)
}

// records6 reads the options, and then the offsets of a buffer's records.
func (f *File) records6(c *bytecursor.Cursor, to *Buffer, cpus int, top bool) {
	part := string(c.Take(uint64(len(recordsPart))))
	if part == optionsPart {
		options := options{file: f, cpus: cpus}
		for c.Err == nil {
			id := c.U16()
			if id == 0 {
				break
			}
			body := c.Take(uint64(c.U32()))
			if c.Err == nil {
				options.take(id, body)
			}
		}
		cpus = options.cpus
		part = string(c.Take(uint64(len(recordsPart))))
		if top {
			f.CPUs = cpus
			defer f.instances6(options.instances)
		}
	}
	switch {
	case c.Err != nil:
		return
	case part == latencyPart:
		c.Err = errText
		return
	case part != recordsPart:
		c.Err = fmt.Errorf("at byte %d: got %q, want records", c.At-len(part), part)
		return
	case cpus < 0 || cpus > maxCPUs:
		c.Err = fmt.Errorf("CPUs: got %d, want at most %d", cpus, maxCPUs)
		return
	}
	for i := range cpus {
		s := section{cpu: int32(i), off: c.U64(), size: c.U64()}
		if c.Err == nil {
			c.Err = f.add(to, s)
		}
	}
}

// errText is the error for files of "trace-cmd record -p wakeup".
var errText = fmt.Errorf("it holds the text of a latency tracer, and no records: %w", ErrForeign)

// An instance is a buffer other than the top buffer, from an option.
type instance struct {
	name string
	off  uint64
}

// instances6 reads the offsets of the records of the other buffers.
func (f *File) instances6(all []instance) {
	for _, in := range all {
		if in.off >= uint64(len(f.b)) {
			f.Cut = true
			f.warn("buffer %s is not in the file: it is at byte %d of %d", in.name, in.off, len(f.b))
			continue
		}
		c := &bytecursor.Cursor{B: f.b[in.off:], At: int(in.off)}
		b := Buffer{Name: in.name}
		f.records6(c, &b, f.CPUs, false)
		if c.Err != nil {
			f.Cut = true
			f.warn("buffer %s: %v", in.name, c.Err)
		}
		f.Buffers = append(f.Buffers, b)
	}
}
