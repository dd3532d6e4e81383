package tracedat

import (
	"fmt"
	"slices"
)

// This file reads the head of version 7: options in sections that say where the
// other sections are, any of which can be compressed.

// Sections by their id, which is that of the option that tells their place.
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
	// maxSection bounds a part of the description; all formats of a kernel have 4 MB.
	maxSection = 256 << 20
)

func (f *File) parse7(c *cursor) {
	f.unzip = c.cstr()
	c.cstr() // the version of the library that compressed
	at := c.u64()
	if c.err != nil {
		return
	}
	if f.unzip == "none" {
		f.unzip = ""
	}
	o := options{file: f, seven: true, sections: map[uint16]uint64{}}
	seen := map[uint64]bool{}
	for at != 0 {
		if seen[at] {
			c.err = fmt.Errorf("options: the section at byte %d comes twice", at)
			return
		}
		seen[at] = true
		var body *cursor
		if body, c.err = f.section(at, sectionOptions); c.err != nil {
			return
		}
		at = o.all(body)
		if c.err = body.err; c.err != nil {
			return
		}
	}
	f.CPUs = max(f.CPUs, o.cpus)
	f.describe7(c, o.sections)
	if c.err != nil {
		return
	}
	if len(f.Buffers) == 0 {
		if o.text {
			c.err = errText
		} else {
			c.err = fmt.Errorf("it describes no buffer: its recording was not finished")
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

// all takes the options of a section and returns where the next section is.
func (o *options) all(c *cursor) (next uint64) {
	for c.err == nil {
		id, size := c.u16(), c.u32()
		body := c.take(uint64(size))
		if c.err != nil {
			break
		}
		if id == optionDone {
			last := &cursor{b: body}
			next = last.u64()
			if last.err != nil {
				c.err = fmt.Errorf("options: their end: %w", last.err)
			}
			return next
		}
		o.take(id, body)
	}
	return 0
}

// describe7 reads the sections that describe events.
func (f *File) describe7(c *cursor, at map[uint16]uint64) {
	read := func(id uint16, parse func(*cursor)) {
		off, there := at[id]
		if !there || c.err != nil {
			return
		}
		body, err := f.section(off, id)
		if err == nil {
			parse(body)
			err = body.err
		}
		c.err = err
	}
	read(sectionHeader, f.headerInfo)
	read(sectionFtrace, func(c *cursor) { f.formats(c, "ftrace") })
	read(sectionFormats, f.systems)
	read(sectionKallsyms, func(c *cursor) { f.Kallsyms = string(c.take(uint64(c.u32()))) })
	read(sectionPrintk, func(c *cursor) { f.Printk = string(c.take(uint64(c.u32()))) })
	read(sectionCmdlines, func(c *cursor) { f.Cmdlines = string(c.blob()) })
}

// section is the content of a section, decompressed.
func (f *File) section(at uint64, want uint16) (*cursor, error) {
	size := uint64(len(f.b))
	if at > size {
		return nil, fmt.Errorf("section %d is not in the file: it is at byte %d of %d", want, at, size)
	}
	c := &cursor{b: f.b[at:], at: int(at)}
	id, flags := c.u16(), c.u16()
	c.u32() // its title
	n := c.u64()
	body := c.take(n)
	switch {
	case c.err != nil:
		return nil, fmt.Errorf("section %d: %w", want, c.err)
	case id != want:
		return nil, fmt.Errorf("at byte %d: got section %d, want %d", at, id, want)
	}
	in := &cursor{b: body, at: int(at) + sectionHead}
	if flags&flagCompressed == 0 {
		return in, nil
	}
	packed, whole := in.u32(), in.u32()
	data := in.take(uint64(packed))
	if in.err != nil {
		return nil, fmt.Errorf("section %d: %w", want, in.err)
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
	return &cursor{b: out}, nil
}
