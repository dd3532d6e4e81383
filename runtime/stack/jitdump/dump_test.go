package jitdump

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
)

// A file is a dump in memory, written in one byte order.
type file struct {
	bytes.Buffer
	order binary.AppendByteOrder
}

func (f *file) words32(v ...uint32) {
	for _, x := range v {
		f.Write(f.order.AppendUint32(nil, x))
	}
}

func (f *file) words64(v ...uint64) {
	for _, x := range v {
		f.Write(f.order.AppendUint64(nil, x))
	}
}

func begin(order binary.AppendByteOrder, flags uint64) *file {
	f := &file{order: order}
	f.words32(magic, 1, headSize, 62, 0, 7)
	f.words64(5, flags)
	return f
}

func (f *file) load(when uint64, name string, addr uint64, code []byte, index uint64) {
	f.words32(codeLoad, uint32(recordHead+40+len(name)+1+len(code)))
	f.words64(when)
	f.words32(7, 7)
	f.words64(addr, addr, uint64(len(code)), index)
	f.WriteString(name + "\x00")
	f.Write(code)
}

func (f *file) move(when, from, to, size, index uint64) {
	f.words32(codeMove, recordHead+48)
	f.words64(when)
	f.words32(7, 7)
	f.words64(to, from, to, size, index)
}

func (f *file) lines(when, addr uint64, first uint32) {
	f.words32(debugInfo, recordHead+16+16+6+16+2)
	f.words64(when, addr, 2, addr)
	f.words32(first, 0)
	f.WriteString("a.src\x00")
	f.words64(addr + 8)
	f.words32(first+1, 0)
	f.WriteString("\xff\x00")
}

func (f *file) end(when uint64) {
	f.words32(codeClose, recordHead)
	f.words64(when)
}

func (f *file) reader() *bytes.Reader { return bytes.NewReader(f.Bytes()) }

// body is the machine code of functions, which nobody looks at.
var body = make([]byte, 16)

func TestFindByTime(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		f := begin(order, 0)
		f.lines(90, 0x1000, 10)
		f.load(100, "a", 0x1000, body, 1)
		f.load(150, "other", 0x3000, body, 2)
		f.load(200, "b", 0x1004, body, 3)
		f.move(300, 0x1000, 0x2ff8, 16, 1)
		f.end(400)
		d := &Dump{}
		if err := d.Update(f.reader(), nil); err != nil {
			t.Fatal(err)
		}
		check := func(addr uint64, when int64, want string) {
			t.Helper()
			fn, ok := d.Find(addr, when, 10)
			if got := fn.Name; got != want || ok != (want != "") {
				t.Errorf("%#x at %d: got %q, want %q", addr, when, got, want)
			}
		}
		check(0x1000, 80, "")
		check(0x1000, 95, "a") // it ran before it was told of
		check(0x100f, 199, "a")
		check(0x100f, 200, "b")
		check(0x1000, 250, "a") // the part of it that is left
		check(0x1014, 250, "")
		check(0x2ff8, 280, "")
		check(0x3004, 299, "other")
		check(0x3004, 300, "a")
		check(0x3009, 300, "other")
		if !d.Reused || d.Len() != 4 {
			t.Errorf("got reused %t of %d, want true of 4", d.Reused, d.Len())
		}
		line := func(addr uint64, when int64, want int) {
			t.Helper()
			fn, _ := d.Find(addr, when, 0)
			if name, got := d.Line(fn, addr); got != want || want > 0 && name != "a.src" {
				t.Errorf("%#x at %d: got line %d of %q, want %d", addr, when, got, name, want)
			}
		}
		line(0x1007, 100, 10)
		line(0x1008, 100, 11)
		line(0x3004, 300, 11)
		line(0x1008, 200, 0) // b has no lines
	}
}

// A process writes on between two readings, and was interrupted within a record.
func TestReadsOn(t *testing.T) {
	f := begin(binary.LittleEndian, 0)
	f.load(100, "a", 0x1000, body, 1)
	f.load(200, "b", 0x2000, make([]byte, 300<<10), 2)
	f.load(300, "c", 0x90000, body, 3)
	whole := f.Bytes()
	d := &Dump{}
	for n := 0; n <= len(whole); n += 997 {
		if err := d.Update(bytes.NewReader(whole[:n]), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Update(bytes.NewReader(whole), nil); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Find(0x90000, 300, 0); !ok || d.Len() != 3 {
		t.Errorf("got %d functions, want 3", d.Len())
	}
}

// TestTimesOfCounter checks that times of the CPU's counter say nothing: the last code counts.
func TestTimesOfCounter(t *testing.T) {
	f := begin(binary.LittleEndian, arch)
	f.load(1<<40, "a", 0x1000, body, 1)
	f.load(1<<41, "b", 0x1000, body, 2)
	d := &Dump{}
	if err := d.Update(f.reader(), nil); err != nil {
		t.Fatal(err)
	}
	if fn, ok := d.Find(0x1000, 5, 0); !ok || fn.Name != "b" {
		t.Errorf("got %q, want b", fn.Name)
	}
}

func TestDamage(t *testing.T) {
	check := func(b []byte, want error) {
		t.Helper()
		if err := (&Dump{}).Update(bytes.NewReader(b), nil); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	check(make([]byte, 100), ErrNotDump)
	f := begin(binary.LittleEndian, 0)
	f.words32(codeLoad, 3)
	f.words64(1)
	check(f.Bytes(), ErrDamaged)
	f = begin(binary.LittleEndian, 0)
	f.load(1, "a", ^uint64(0)-3, body, 1)
	check(f.Bytes(), ErrDamaged)
}

func TestMarker(t *testing.T) {
	for name, want := range map[string]bool{"/tmp/jit-12.dump": true, "/a/jit-7.dump (deleted)": true,
		"/tmp/jit-.dump": false, "/tmp/jit-x.dump": false, "/tmp/jit-1.dumps": false, "//anon": false} {
		if got := IsMarker(name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}

func FuzzDump(f *testing.F) {
	some := begin(binary.LittleEndian, 0)
	some.lines(90, 0x1000, 10)
	some.load(100, "JS:a", 0x1000, body, 1)
	some.move(300, 0x1000, 0x2ff8, 16, 1)
	some.end(400)
	f.Add(some.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &Dump{}
		err := d.Update(bytes.NewReader(b), nil)
		again := &Dump{}
		for n := 0; n <= len(b); n += 13 {
			again.Update(bytes.NewReader(b[:n]), nil)
		}
		later := again.Update(bytes.NewReader(b), nil)
		if err == nil && later != nil || again.Len() != d.Len() {
			t.Errorf("read in parts: got %d functions, %v, want %d, %v", again.Len(), later, d.Len(), err)
		}
		for i := range d.codes {
			c := &d.codes[i]
			fn, ok := d.Find(c.addr, Forever, 0)
			if !ok || fn.Addr > c.addr {
				t.Errorf("%#x has no function", c.addr)
			}
			d.Line(fn, c.addr)
		}
	})
}

// TestPagesAreBounded checks that large functions that are moved again and again touch many pages:
// their number is bounded, and counts as memory and as work.
func TestPagesAreBounded(t *testing.T) {
	f := begin(binary.LittleEndian, 0)
	const moves = 2 * maxTouched / maxSpan
	f.load(1, "a", 1<<40, make([]byte, maxSpan<<pageBits), 1)
	for i := range uint64(moves) {
		f.move(2, 1<<40, 1<<41+i<<30, maxSpan<<pageBits, 1)
	}
	d, looks := &Dump{}, 0
	err := d.Update(f.reader(), func() bool { looks++; return false })
	if !errors.Is(err, ErrFull) || d.touched > maxTouched+maxSpan+1 || d.Len() >= moves {
		t.Errorf("got %v with %d functions on %d pages, want that it is full", err, d.Len(), d.touched)
	}
	if want := maxTouched / maxSpan / 2; looks < want || d.Bytes() < 8*maxTouched {
		t.Errorf("got %d looks at the time and %d bytes, want at least %d and %d", looks, d.Bytes(), want,
			8*maxTouched)
	}
}

// TestNamesOfFilesAreBounded checks that names of source files are bounded too: records of lines
// may have a long one for each row.
func TestNamesOfFilesAreBounded(t *testing.T) {
	f := begin(binary.LittleEndian, 0)
	for i := range 3 * maxText / maxName {
		name := fmt.Sprintf("%0*d", maxName-1, i)
		f.words32(debugInfo, uint32(recordHead+16+16+len(name)+1+1))
		f.words64(1, 0x1000, 1, 0x1000)
		f.words32(1, 0)
		f.WriteString(name + "\x00\x00")
	}
	f.load(1, "a", 0x1000, body, 1)
	d, text := &Dump{}, 0
	if err := d.Update(f.reader(), nil); err != nil || d.Len() != 1 {
		t.Fatalf("got %v, %d functions", err, d.Len())
	}
	for _, name := range d.lines.files {
		text += len(name)
	}
	if text > maxText || text < maxText/2 || d.Bytes() < text {
		t.Errorf("got %d bytes of names of files, %d in all, want at most %d", text, d.Bytes(), maxText)
	}
}

// TestFunctionsOfOnePageAreBounded checks that each frame of a process is looked for among the
// functions of its page: a process that tells of any number of functions in one page does not make
// each frame take long. The newest ones count.
func TestFunctionsOfOnePageAreBounded(t *testing.T) {
	f := begin(binary.LittleEndian, 0)
	const n = 1 << 17
	for i := range uint64(n) {
		f.load(i, "f", 0x1000+i%16, body[:1], i)
	}
	d := &Dump{}
	if err := d.Update(f.reader(), nil); err != nil {
		t.Fatal(err)
	}
	if got := len(d.pages[1]); got > 1<<12 {
		t.Errorf("got %d functions to look through", got)
	}
	if fn, ok := d.Find(0x100f, Forever, 0); !ok || fn.From != n-1 {
		t.Errorf("got %+v, want the last one", fn)
	}
}
