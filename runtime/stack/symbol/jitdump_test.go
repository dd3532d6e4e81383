package symbol

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/target/task"
)

// A dumpFile is the dump of a compiler, to which a test adds functions.
type dumpFile struct {
	t    *testing.T
	path string
	maps *task.Mappings
	s    *Symbolizer
}

// newDump begins the dump of process 1, which has mapped it.
func newDump(t *testing.T) *dumpFile {
	t.Helper()
	d := &dumpFile{t: t, path: filepath.Join(t.TempDir(), "jit-1.dump")}
	le := binary.LittleEndian
	head := []byte("DTiJ")
	for _, v := range []uint32{1, 40, 62, 0, 1} {
		head = le.AppendUint32(head, v)
	}
	head = le.AppendUint64(le.AppendUint64(head, 1), 0)
	if err := os.WriteFile(d.path, head, 0o644); err != nil {
		t.Fatal(err)
	}
	d.maps = task.NewMappings(task.MappingsOptions{NoProc: true})
	t.Cleanup(func() { d.maps.Close() })
	d.maps.Map(&perf.Mapping{PID: 1, Addr: 0x7000_0000, Len: 0x1000, Name: d.path, Prot: 5}, 1)
	d.s = New(Options{Monotonic: true, Maps: d.maps})
	t.Cleanup(func() { d.s.Close() })
	return d
}

// load tells of a function.
func (d *dumpFile) load(when uint64, name string, addr uint64, size int) {
	d.t.Helper()
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0)
	b = le.AppendUint32(b, uint32(16+40+len(name)+1+size))
	b = le.AppendUint64(b, when)
	b = le.AppendUint32(le.AppendUint32(b, 1), 1)
	for _, v := range []uint64{addr, addr, uint64(size), addr} {
		b = le.AppendUint64(b, v)
	}
	b = append(append(append(b, name...), 0), make([]byte, size)...)
	f, err := os.OpenFile(d.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		d.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		d.t.Fatal(err)
	}
	d.s.Refresh()
}

// TestChangesOfCode checks that stacks of before are told apart from those of after, also at the
// first place that is used twice: until the dump tells of it, no address is remembered.
func TestChangesOfCode(t *testing.T) {
	d := newDump(t)
	c := d.s.NewChanges()
	see := func(when event.Time, addr uint64, want bool) {
		t.Helper()
		if got := c.See(1, when, []uint64{addr}); got != want {
			t.Errorf("%#x at %d: got changed %t, want %t", addr, when, got, want)
		}
	}
	const here, there = 0x1000, 0x2000
	d.load(100, "first", here, 16)
	d.load(101, "other", there, 16)
	see(150, here, false)
	see(160, there, false)
	d.load(200, "second", here, 16)
	see(250, here, true)
	see(260, here, false)
	see(270, there, false)
	d.load(300, "third", here, 16)
	see(350, there, false)
	see(360, here, true)
	see(370, here, false)
}

// Where there are too many addresses they are forgotten, and may have changed.
func TestChangesAreBounded(t *testing.T) {
	d := newDump(t)
	c := d.s.NewChanges()
	const here, far, most = 0x1000, 0x100000, mostChanges + 1
	d.load(100, "first", here, 16)
	d.load(101, "second", here, 16)
	d.load(102, "large", far, most)
	var all []uint64
	for i := range uint64(most) {
		all = append(all, far+i)
	}
	see := func(chain []uint64, want bool) {
		t.Helper()
		if got := c.See(1, 150, chain); got != want {
			t.Errorf("%d addresses: got changed %t, want %t", len(chain), got, want)
		}
	}
	see([]uint64{here}, true)
	see(all, false)
	see([]uint64{here}, true)
	see([]uint64{here}, false)
}
