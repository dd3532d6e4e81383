package interpreter

import (
	"encoding/binary"
	"io"
	"math/rand"
	"runtime"
	"testing"

	"ppscript/bpf/interpreted"
	"ppscript/runtime/target/task"
)

// endless is the memory of a process that has a code object of Python 3.12 at each multiple of 1<<20, with
// long names of its own and 64 KB of lines.
type endless struct{}

const (
	endlessType  = 0x77
	endlessName  = 1 << 12 // behind the object
	endlessLines = 1 << 13
)

func (endless) ReadAt(b []byte, at int64) (int, error) {
	object, in := uint64(at)&^(1<<20-1), uint64(at)&(1<<20-1)
	clear(b)
	le := binary.LittleEndian
	put := func(at, v uint64) { // a word at an offset of the object
		if at >= in && at-in+8 <= uint64(len(b)) {
			le.PutUint64(b[at-in:], v)
		}
	}
	put(8, endlessType)
	for i := range uint64(3) {
		put(112+8*i, object+endlessName)
	}
	put(136, object+endlessLines)
	put(endlessName+16, maxText)
	put(endlessName+32, (4|1<<3)<<2) // four bytes for each letter, behind the head
	for i := range uint64(maxText / 2) {
		put(endlessName+newText.compact+8*i, (object>>20&0xff+0x10000)<<32|object>>28&0xffff+0x10000)
	}
	put(endlessLines+16, maxLines)
	return len(b), nil
}

// The code objects of a process that has any number of them, each as large as it may be, take bounded memory.
func TestObjectsAreBounded(t *testing.T) {
	l := layouts[12]
	l.minor = 12
	w, err := Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{functions: map[object]function{}}
	p.read = func(mem io.ReaderAt, at, check uint64) (function, bool) {
		c, ok := readCode(mem, &l, endlessType, at, check)
		return &c, ok
	}
	p.unknown = python.unknown(w)
	w.spaces[&task.Space{}], w.running[1] = p, p
	const objects = 10_000
	before := heap()
	for i := range uint64(objects) {
		name := i<<20 + endlessName
		w.number(p, endless{}, interpreted.Frame{Code: i << 20, Check: interpreted.Check(name, name, name)})
	}
	if grew := heap() - before; grew > 128<<20 {
		t.Errorf("got %d MB more for %d objects, want at most 128", grew>>20, objects)
	}
	if len(w.list) < 1000 || w.stats.Unknown > 0 || len(w.list[len(w.list)-1].Symbol) != 4*maxText {
		t.Errorf("got %d names, %d unknown: the objects are none", len(w.list), w.stats.Unknown)
	}
	runtime.KeepAlive(p)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// memoryAt is bytes at an address.
type memoryAt struct {
	from uint64
	b    []byte
}

func (m memoryAt) ReadAt(b []byte, at int64) (int, error) {
	if off := uint64(at) - m.from; off <= uint64(len(m.b)) && uint64(len(b)) <= uint64(len(m.b))-off {
		return copy(b, m.b[off:]), nil
	}
	return 0, io.EOF
}

// lookAt reads a memory as functions of all languages: whatever it has, they have bounded names, or there are
// none.
func lookAt(t *testing.T, b []byte, at uint16, instr uint64) (functions int) {
	mem := memoryAt{0x100000, b}
	object := mem.from + uint64(at)
	check := func(strings uint64) uint64 {
		var p [24]byte
		_, _ = mem.ReadAt(p[:], int64(object+strings))
		le := binary.LittleEndian
		return interpreted.Check(le.Uint64(p[:]), le.Uint64(p[8:]), le.Uint64(p[16:]))
	}
	look := func(fn function, ok bool) {
		if !ok {
			return
		}
		functions++
		shown := fn.frame(mem, interpreted.Frame{Code: object, Instr: instr})
		if shown.Symbol == "" || len(shown.Symbol) > 2*4*maxText+2 || len(shown.File) > 4*maxText ||
			fn.bytes() > 1<<20 {
			t.Errorf("got %+v of %d bytes", shown, fn.bytes())
		}
	}
	var kind [8]byte
	_, _ = mem.ReadAt(kind[:], int64(object+8))
	for minor, l := range layouts {
		l.minor = minor
		c, ok := readCode(mem, &l, binary.LittleEndian.Uint64(kind[:]), object, check(l.code.strings))
		look(&c, ok)
	}
	for _, l := range rubyLayouts {
		look(l.read(mem, object, check(rubyLocation)))
	}
	for _, l := range phpLayouts {
		look(l.read(mem, object, check(phpName)))
	}
	for minor := 9; minor <= 14; minor++ {
		if l, ok := layoutOf(minor, b); ok && l.code.strings >= 1<<10 {
			t.Errorf("3.%d: got %+v", minor, l)
		}
	}
	return functions
}

// hostileWords is a memory of nothing but pointers and numbers: into itself, of texts of all kinds, and at
// the ends of their ranges.
func hostileWords(rnd *rand.Rand, n int) []byte {
	var b []byte
	for range n {
		v := uint64(0x100000 + 8*rnd.Intn(n))
		switch rnd.Intn(8) {
		case 0:
			v = uint64(rnd.Intn(600))
		case 1:
			ends := []uint64{0, 1, 1<<16 - 1, 1<<20 + 1, 1<<31 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}
			v = ends[rnd.Intn(len(ends))]
		case 2:
			v = []uint64{(1 | 3<<3) << 2, (1 | 1<<3) << 2, (2 | 1<<3) << 2, (4 | 1<<3) << 2}[rnd.Intn(4)]
		case 3:
			v = []uint64{rubyString, rubyString | rubyApart, rubyArray, rubyArray | rubyApart}[rnd.Intn(4)]
		}
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// Memories that are made to mislead are read to the end of their bounds.
func TestHostileObjects(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	functions := 0
	for range 20_000 {
		at, instr := uint16(8*rnd.Intn(100)), 0x100000+uint64(rnd.Intn(4000))
		functions += lookAt(t, hostileWords(rnd, 200), at, instr)
	}
	if functions < 1000 {
		t.Errorf("got %d functions, want thousands: the memories mislead nobody", functions)
	}
}

// FuzzObjects is TestHostileObjects for memories that the fuzzer finds.
func FuzzObjects(f *testing.F) {
	rnd := rand.New(rand.NewSource(2))
	for range 10 {
		f.Add(hostileWords(rnd, 200), uint16(64), uint64(0x100100))
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint16, instr uint64) { lookAt(t, b, at, instr) })
}
