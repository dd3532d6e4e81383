package jitdump

import (
	"encoding/binary"
	"errors"
	"io"
	"path"
	"sort"
	"strconv"
	"strings"
)

// IsMarker reports that a mapping with that name is the dump of a process.
func IsMarker(name string) bool {
	digits, ok := strings.CutPrefix(path.Base(strings.TrimSuffix(name, " (deleted)")), "jit-")
	if !ok {
		return false
	}
	digits, ok = strings.CutSuffix(digits, ".dump")
	_, err := strconv.ParseUint(digits, 10, 32)
	return ok && err == nil
}

// Bounds on the kept parts of a dump: functions, the pages that they touch, the functions of one
// page, the bytes of names of functions and of source files, the bytes of one name, rows of source
// lines. Large programs have 100,000 functions, most of which touch one page. Find searches the
// newest maxAtPage functions of a page.
const (
	maxCodes   = 1 << 18
	maxTouched = 1 << 19
	maxAtPage  = 1 << 12
	maxText    = 16 << 20
	maxName    = 1 << 14
	maxRows    = 1 << 20
)

// Forever is the end time of code that was not replaced.
const Forever = 1<<63 - 1

// A Dump has the content of a file, as far as it was read. It is used by one
// goroutine.
type Dump struct {
	codes []code
	pages map[uint64][]int32 // codes by the pages that they touch, in the order of the file

	touched int              // entries in pages
	index   map[uint64]int32 // the last code with an index of the compiler, for moves
	names   []byte
	lines   lines
	next    int64 // offset of the next record
	order   binary.ByteOrder
	head    header
	// Reused says that some address has had two functions.
	Reused bool
	closed bool
}

// header has the facts from the file's header.
type header struct {
	madeAt uint64 // time at which the file was made
	timed  bool   // times are on a clock of the kernel, not the CPU's counter
}

// A code is a function at an address.
type code struct {
	addr uint64
	from int64 // time of the record, ns
	size uint32
	name uint32 // offset of the name in names
	long uint16
	rows span
}

// A Func is a function of a Dump.
type Func struct {
	Name string
	Addr uint64
	// From and Until are the times between which its code was there, in ns on the dump's
	// clock.
	From, Until int64
	code        int32
}

// Errors for files that are not dumps, or damaged ones. The records before the error
// are used.
var (
	ErrNotDump = errors.New("no dump of a compiler")
	ErrDamaged = errors.New("damaged records in the dump of a compiler")
	ErrFull    = errors.New("the dump of a compiler has more functions than there is room for")
)

const (
	magic      = 0x4A695444
	headSize   = 40
	recordHead = 16
	arch       = 1 // JITDUMP_FLAGS_ARCH_TIMESTAMP
)

// Kinds of records.
const (
	codeLoad  = 0
	codeMove  = 1
	debugInfo = 2
	codeClose = 3
)

// Update reads the records after the last call; an incomplete record is left for the next call.
// expired ends it early. An error is the reason why it cannot read further.
func (d *Dump) Update(r io.ReaderAt, expired func() bool) error {
	if d.closed {
		return nil
	}
	w := window{from: r}
	if d.order == nil {
		if err := d.begin(&w); err != nil || d.order == nil {
			return err
		}
	}
	for n, look := 0, 0; ; n++ {
		if n+d.touched >= look && expired != nil {
			if expired() {
				return nil // the next call continues
			}
			look = n + d.touched + 1024
		}
		head := w.at(d.next, recordHead)
		if head == nil {
			return nil
		}
		kind, total := d.order.Uint32(head), int64(d.order.Uint32(head[4:]))
		when := d.order.Uint64(head[8:])
		if total < recordHead {
			return d.end(ErrDamaged)
		}
		if w.at(d.next+total-1, 1) == nil {
			return nil // it is being written
		}
		var err error
		body, size := d.next+recordHead, total-recordHead
		switch kind {
		case codeLoad:
			err = d.load(&w, body, size, when)
		case codeMove:
			err = d.move(w.at(body, 48), size, when)
		case debugInfo:
			err = d.lines.take(&w, body, size, d.order)
		case codeClose:
			return d.end(nil)
		}
		if err != nil {
			return d.end(err)
		}
		d.next += total
	}
}

func (d *Dump) end(err error) error {
	d.closed = true
	return err
}

// begin reads the header; it is no error if the file has none yet.
func (d *Dump) begin(w *window) error {
	head := w.at(0, headSize)
	if head == nil {
		return nil
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if order.Uint32(head) != magic {
		order = binary.BigEndian
	}
	size := order.Uint32(head[8:])
	if order.Uint32(head) != magic || order.Uint32(head[4:]) != 1 || size < headSize || size > 1<<16 {
		return d.end(ErrNotDump)
	}
	d.order, d.next = order, int64(size)
	d.head = header{madeAt: order.Uint64(head[24:]), timed: order.Uint64(head[32:])&arch == 0}
	d.pages, d.index = map[uint64][]int32{}, map[uint64]int32{}
	return nil
}

// MadeAt is the time at which the file was made, on the dump's clock; false if that is not a clock
// of the kernel.
func (d *Dump) MadeAt() (ns int64, ok bool) { return int64(d.head.madeAt), d.head.timed }

func (d *Dump) load(w *window, at, size int64, when uint64) error {
	const fixed = 40
	b := w.at(at, fixed)
	if size <= fixed || b == nil {
		return ErrDamaged
	}
	addr, bytes, index := d.order.Uint64(b[16:]), d.order.Uint64(b[24:]), d.order.Uint64(b[32:])
	if bytes > uint64(size-fixed) {
		return ErrDamaged
	}
	long := size - fixed - int64(bytes)
	if long < 1 || addr+bytes < addr {
		return ErrDamaged
	}
	name := w.at(at+fixed, int(min(long, maxName)))
	if i := indexNul(name); i >= 0 {
		name = name[:i]
	}
	if len(name) == 0 || bytes == 0 {
		return nil // nothing to show
	}
	c := code{addr: addr, size: uint32(min(bytes, 1<<32-1)), from: d.time(when),
		name: uint32(len(d.names)), long: uint16(len(name)), rows: d.lines.of(addr, name)}
	if len(d.codes) >= maxCodes || len(d.names)+len(name) > maxText {
		return ErrFull
	}
	d.names = append(d.names, name...)
	return d.put(c, index)
}

func (d *Dump) move(b []byte, size int64, when uint64) error {
	if size < 48 || b == nil {
		return ErrDamaged
	}
	to, index := d.order.Uint64(b[24:]), d.order.Uint64(b[40:])
	i, ok := d.index[index]
	if !ok {
		return nil // the code was left out
	}
	if len(d.codes) >= maxCodes {
		return ErrFull
	}
	c := d.codes[i]
	if to+uint64(c.size) < to {
		return ErrDamaged
	}
	c.rows = d.lines.moved(c.rows, to-c.addr)
	c.addr, c.from = to, d.time(when)
	return d.put(c, index)
}

// time is the time of a record; 0 if the dump's clock is not a clock of the kernel, so that the
// last code at an address is used.
func (d *Dump) time(when uint64) int64 {
	if !d.head.timed || when >= Forever {
		return 0
	}
	return int64(when)
}

const pageBits = 12

// maxSpan bounds the pages of one function.
const maxSpan = 1 << 12

func (d *Dump) put(c code, index uint64) error {
	number := int32(len(d.codes))
	last := min((c.addr+uint64(c.size)-1)>>pageBits, c.addr>>pageBits+maxSpan)
	if d.touched += int(last-c.addr>>pageBits) + 1; d.touched > maxTouched {
		return ErrFull
	}
	d.codes = append(d.codes, c)
	d.index[index] = number
	for p := c.addr >> pageBits; p <= last; p++ {
		list := d.pages[p]
		if !d.Reused {
			for _, i := range list {
				if o := &d.codes[i]; o.addr < c.addr+uint64(c.size) && c.addr < o.addr+uint64(o.size) {
					d.Reused = true
				}
			}
		}
		if len(list) == maxAtPage {
			list = list[1:]
		}
		d.pages[p] = append(list, number)
	}
	return nil
}

// Len is the number of functions that were read.
func (d *Dump) Len() int { return len(d.codes) }

// Bytes is the approximate memory of the dump.
func (d *Dump) Bytes() int {
	const (
		perCode = 100 // including its entry in index
		perPage = 64  // an entry of a map, and a slice
	)
	return perCode*len(d.codes) + perPage*d.touched + len(d.names) + d.lines.bytes()
}

// Find returns the function whose code was at an address at a time. A record is written after the
// code, so the first code at an address is also used for times up to slack before its record.
func (d *Dump) Find(addr uint64, when, slack int64) (f Func, ok bool) {
	list := d.pages[addr>>pageBits]
	until := int64(Forever)
	for k := len(list) - 1; k >= 0; k-- {
		c := &d.codes[list[k]]
		if addr < c.addr || addr-c.addr >= uint64(c.size) {
			continue
		}
		if c.from <= when {
			return d.fn(list[k], until), true
		}
		f, ok = Func{}, c.from-when <= slack
		if ok {
			f = d.fn(list[k], until)
		}
		until = c.from
	}
	return f, ok
}

func (d *Dump) fn(i int32, until int64) Func {
	c := &d.codes[i]
	return Func{Name: string(d.names[c.name:][:c.long]), Addr: c.addr, From: c.from, Until: until, code: i}
}

// Line is the source line of an address in a function, "" and 0 if unknown.
func (d *Dump) Line(f Func, addr uint64) (file string, line int) {
	rows := d.lines.rows[d.codes[f.code].rows.from:d.codes[f.code].rows.to]
	i := sort.Search(len(rows), func(i int) bool { return rows[i].addr > addr }) - 1
	if i < 0 {
		return "", 0
	}
	return d.lines.files[rows[i].file], int(rows[i].line)
}
