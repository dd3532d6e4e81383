package tracedat

import (
	"errors"
	"fmt"
	"ppscript/runtime/source/bytecursor"
	"slices"
	"strconv"
	"strings"
)

// magic begins every file. The tracing data within a perf.data begin with it
// too.
const magic = "\x17\x08\x44tracing"

// IsTraceDat reports that a file that begins with these bytes is trace-cmd's.
func IsTraceDat(begin []byte) bool {
	return len(begin) >= len(magic) && string(begin[:len(magic)]) == magic
}

// ErrForeign is the cause of errors about files of a kind that this package
// cannot read. Such files are not damaged, so that a new recording of the same
// kind would not help.
var ErrForeign = errors.New("cannot be read")

// A File is a trace.dat in memory. It does not change after Parse.
type File struct {
	Head
	Facts
	// Buffers are the ring buffers. The first is the kernel's top buffer, whose
	// name is empty.
	Buffers []Buffer
	// Warnings describe faults in parts of the file; the rest was read.
	Warnings []string
	// Cut says that the end of the file, with some records, is missing.
	Cut bool

	b     []byte
	unzip string // the algorithm of compressed parts, "" without compression
	clock clock
	found int // number of sections with records, in all buffers
}

// A Head is the beginning of a file.
type Head struct {
	Version    int // 6 or 7
	LongSize   int
	PageSize   int
	HeaderPage string // tracefs's events/header_page
	Formats    []Format
	Kallsyms   string
	Printk     string // printk_formats
	Cmdlines   string // saved_cmdlines
}

// A Format is the text of one format file of tracefs.
type Format struct{ System, Text string }

// Facts are the values of the options in a file.
type Facts struct {
	Uname  string // uname of the recorded machine
	Writer string // the version of trace-cmd
	CPUs   int    // 0 if unknown
	// Clock is the name of the events' clock in tracefs.
	Clock string
	// Unit is the unit of the clock if it is not ns; else "".
	Unit string
	// WallNS is added to a time to get ns since 1970; 0 if unknown.
	WallNS int64
	// Overrun is the number of records that the kernel counted as lost, in all
	// buffers.
	Overrun uint64
	// Guests are the names of the guests that were recorded together with this
	// host.
	Guests []string
}

// A Buffer is one ring buffer of the kernel: the top buffer, or the buffer of
// an instance of tracefs.
type Buffer struct {
	Name  string
	Clock string // "" means the clock of the file
	page  int    // size of a page; 0 is the file's
	cpus  []section
}

// A section is a part of the file with the pages of one CPU.
type section struct {
	cpu        int32
	off, size  uint64
	compressed bool
}

// maxCPUs and maxSections bound the memory that damaged counts can cause to be
// allocated.
const (
	maxCPUs     = 8192
	maxSections = 1 << 16
)

// add adds the section with the records of a CPU to a buffer.
func (f *File) add(b *Buffer, s section) error {
	if s.cpu < 0 || s.cpu >= maxCPUs {
		return fmt.Errorf("CPU: got %d, want at most %d", s.cpu, maxCPUs)
	}
	if f.found++; f.found > maxSections {
		return fmt.Errorf("CPUs of all buffers: more than %d", maxSections)
	}
	b.cpus = append(b.cpus, s)
	return nil
}

// Parse reads the description in a file. It keeps b; records are views of it.
func Parse(b []byte) (*File, error) {
	f := &File{b: b}
	c := &bytecursor.Cursor{B: b}
	c.Expect(magic)
	version := c.CStr()
	if c.Err != nil {
		return nil, c.Err
	}
	n, err := strconv.Atoi(version)
	if err != nil || n < 6 || n > 7 {
		return nil, fmt.Errorf("version: got %q, want 6 or 7: %w", version, ErrForeign)
	}
	f.Version = n
	if big := c.U8(); big != 0 && c.Err == nil {
		return nil, fmt.Errorf("recorded on a big-endian machine: %w", ErrForeign)
	}
	f.LongSize, f.PageSize = int(c.U8()), int(c.U32())
	if c.Err == nil && (f.PageSize < minPage || f.PageSize > maxPage) {
		return nil, fmt.Errorf("page size: got %d, want %d to %d", f.PageSize, minPage, maxPage)
	}
	if n == 6 {
		f.parse6(c)
	} else {
		f.parse7(c)
	}
	if c.Err != nil {
		return nil, c.Err
	}
	f.finish()
	return f, nil
}

// finish sets the values that depend on several parts of the file.
func (f *File) finish() {
	f.clock.settle(&f.Facts)
	left := uint64(len(f.b))
	for i := range f.Buffers {
		b := &f.Buffers[i]
		if first := f.Buffers[0].Clock; b.Clock != first {
			f.warn("buffer %s has the clock %s, the first one %s: their times cannot be compared",
				b.Name, b.Clock, first)
		}
		for j := range b.cpus {
			left -= f.bound(b, &b.cpus[j], left)
		}
		b.cpus = slices.DeleteFunc(b.cpus, func(s section) bool { return s.size == 0 })
	}
}

// bound limits the section of a CPU to the size of the file. left is the number
// of bytes that are not in other sections, since sections do not overlap. It
// returns the bytes that are left after this section.
func (f *File) bound(b *Buffer, s *section, left uint64) uint64 {
	size := uint64(len(f.b))
	have := min(size-min(s.off, size), left)
	if s.size > have {
		f.Cut = true
		name := ""
		if b.Name != "" {
			name = " of buffer " + b.Name
		}
		f.warn("records of CPU %d%s are cut: got %d bytes, want %d", s.cpu, name, have, s.size)
		s.size = have
	}
	return s.size
}

func (f *File) warn(format string, args ...any) {
	const maxWarnings = 20
	if len(f.Warnings) < maxWarnings {
		f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
	}
}

// headerInfo reads the layout of pages and records.
func (f *File) headerInfo(c *bytecursor.Cursor) {
	c.Expect("header_page\x00")
	f.HeaderPage = string(c.Blob())
	c.Expect("header_event\x00")
	c.Blob()
}

// formats reads a list of format files.
func (f *File) formats(c *bytecursor.Cursor, system string) {
	for range c.Count(8) {
		f.Formats = append(f.Formats, Format{system, string(c.Blob())})
	}
}

func (f *File) systems(c *bytecursor.Cursor) {
	for range c.Count(5) {
		f.formats(c, c.CStr())
	}
}

// pageSize returns the size of a buffer's pages. The head has the page size of
// the machine's memory; pages of buffers can be larger since Linux 6.8.
func (f *File) pageSize(b *Buffer) int {
	if b.page >= minPage && b.page <= maxPage {
		return b.page
	}
	if data, ok := pageField(f.HeaderPage, "data"); ok {
		if n := data.offset + data.size; n >= minPage && n <= maxPage {
			return n
		}
	}
	return f.PageSize
}

// Bounds on the size of pages: the least has room for the header and one
// record, the largest is the kernel's bound for sub-buffers.
const (
	minPage = 64
	maxPage = 1 << 20
)

// A place is the offset and size of a member of the page's header.
type place struct{ offset, size int }

// pageField finds a line of header_page:
// "field: local_t commit;	offset:8;	size:8;	signed:1;".
func pageField(header, name string) (p place, ok bool) {
	for line := range strings.Lines(header) {
		decl, rest, found := strings.Cut(line, ";")
		if !found || !strings.HasSuffix(strings.TrimSpace(decl), " "+name) {
			continue
		}
		for _, part := range strings.Split(rest, ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(part), ":")
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 || n > maxPage {
				continue
			}
			switch key {
			case "offset":
				p.offset = n
			case "size":
				p.size = n
			}
		}
		return p, true
	}
	return p, false
}
