package tracedat

import (
	"fmt"
	"ppscript/runtime/source/bytecursor"
	"slices"
)

// This file reads the head of version 7: sections with options, which have the
// offsets of the other sections. Each section may be compressed.

// Identifiers of sections. The option with the same identifier has the
// section's offset.
const (
	sectionOptions  = 0
	sectionHeader   = 16
	sectionFtrace   = 17
	sectionFormats  = 18
	sectionKallsyms = 19
	sectionPrintk   = 20
	sectionCmdlines = 21
)

const (
	flagCompressed = 1
	sectionHead    = 16
	// maxSection bounds a section of the description, in bytes; all formats of a
	// kernel have 4 MB.
	maxSection = 256 << 20
)

func (f *File) parse7(c *bytecursor.Cursor) {
	f.unzip = c.CStr()
	c.CStr() // the version of the compression library
	at := c.U64()
	if c.Err != nil {
		return
	}
	if f.unzip == "none" {
		f.unzip = ""
	}
	o := options{file: f, seven: true, sections: map[uint16]uint64{}}
	seen := map[uint64]bool{}
	for at != 0 {
		if seen[at] {
			c.Err = fmt.Errorf("options: the section at byte %d comes twice", at)
			return
		}
		seen[at] = true
		var body *bytecursor.Cursor
		if body, c.Err = f.section(at, sectionOptions); c.Err != nil {
			return
		}
		at = o.all(body)
		if c.Err = body.Err; c.Err != nil {
			return
		}
	}
	f.CPUs = max(f.CPUs, o.cpus)
	f.describe7(c, o.sections)
	if c.Err != nil {
		return
	}
	if len(f.Buffers) == 0 {
		if o.text {
			c.Err = errText
		} else {
			c.Err = fmt.Errorf("it describes no buffer: its recording was not finished")
		}
		return
	}
	// The top buffer first.
	slices.SortStableFunc(f.Buffers, func(a, b Buffer) int {
		switch {
		case a.Name == b.Name:
			return 0
		case a.Name == "":
			return -1
		case b.Name == "":
			return 1
		}
		return 0
	})
	if clock := f.Buffers[0].Clock; clock != "" {
		f.Clock = clock
	}
}

// all reads the options of a section and returns the offset of the next section
// with options.
func (o *options) all(c *bytecursor.Cursor) (next uint64) {
	for c.Err == nil {
		id, size := c.U16(), c.U32()
		body := c.Take(uint64(size))
		if c.Err != nil {
			break
		}
		if id == optionDone {
			last := &bytecursor.Cursor{B: body}
			next = last.U64()
			if last.Err != nil {
				c.Err = fmt.Errorf("options: their end: %w", last.Err)
			}
			return next
		}
		o.take(id, body)
	}
	return 0
}

// describe7 reads the sections that describe events.
func (f *File) describe7(c *bytecursor.Cursor, at map[uint16]uint64) {
	read := func(id uint16, parse func(*bytecursor.Cursor)) {
		off, there := at[id]
		if !there || c.Err != nil {
			return
		}
		body, err := f.section(off, id)
		if err == nil {
			parse(body)
			err = body.Err
		}
		c.Err = err
	}
	read(sectionHeader, f.headerInfo)
	read(sectionFtrace, func(c *bytecursor.Cursor) { f.formats(c, "ftrace") })
	read(sectionFormats, f.systems)
	read(sectionKallsyms, func(c *bytecursor.Cursor) { f.Kallsyms = string(c.Take(uint64(c.U32()))) })
	read(sectionPrintk, func(c *bytecursor.Cursor) { f.Printk = string(c.Take(uint64(c.U32()))) })
	read(sectionCmdlines, func(c *bytecursor.Cursor) { f.Cmdlines = string(c.Blob()) })
}

// section returns the content of a section, decompressed.
func (f *File) section(at uint64, want uint16) (*bytecursor.Cursor, error) {
	size := uint64(len(f.b))
	if at > size {
		return nil, fmt.Errorf("section %d is not in the file: it is at byte %d of %d", want, at, size)
	}
	c := &bytecursor.Cursor{B: f.b[at:], At: int(at)}
	id, flags := c.U16(), c.U16()
	c.U32() // its title
	n := c.U64()
	body := c.Take(n)
	switch {
	case c.Err != nil:
		return nil, fmt.Errorf("section %d: %w", want, c.Err)
	case id != want:
		return nil, fmt.Errorf("at byte %d: got section %d, want %d", at, id, want)
	}
	in := &bytecursor.Cursor{B: body, At: int(at) + sectionHead}
	if flags&flagCompressed == 0 {
		return in, nil
	}
	packed, whole := in.U32(), in.U32()
	data := in.Take(uint64(packed))
	if in.Err != nil {
		return nil, fmt.Errorf("section %d: %w", want, in.Err)
	}
	if whole > maxSection {
		return nil, fmt.Errorf("section %d: got %d bytes, want at most %d", want, whole, maxSection)
	}
	u, err := newUnzipper(f.unzip, maxSection)
	if err != nil {
		return nil, err
	}
	defer u.close()
	out, err := u.unzip(nil, data, int(whole))
	if err != nil {
		return nil, fmt.Errorf("section %d at byte %d: %w", want, at, err)
	}
	return &bytecursor.Cursor{B: out}, nil
}
