package task

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
)

// recordedMaps is a Mappings that asks nobody but the records.
func recordedMaps(o MappingsOptions) *Mappings {
	o.NoProc = true
	return NewMappings(o)
}

func mapped(pid int32, start, length, off uint64, name string) *perf.Mapping {
	return &perf.Mapping{PID: pid, TID: pid, Addr: start, Len: length, Pgoff: off, Name: name, Prot: 5}
}

// expectMap wants "name+offset" at an address, "" for nothing.
func expectMap(t *testing.T, m *Mappings, pid int32, addr uint64, when event.Time, name string, off uint64) {
	t.Helper()
	r, ok := m.Find(pid, addr, when)
	switch {
	case !ok && name != "":
		t.Errorf("%d %#x at %d: got nothing, want %s", pid, addr, when, name)
	case ok && name == "":
		t.Errorf("%d %#x at %d: got %s, want nothing", pid, addr, when, r.Name)
	case ok && (r.Name != name || r.Offset(addr) != off):
		t.Errorf("%d %#x at %d: got %s+%#x, want %s+%#x", pid, addr, when, r.Name, r.Offset(addr), name, off)
	}
}

func TestMappingsReplaceEachOther(t *testing.T) {
	m := recordedMaps(MappingsOptions{})
	m.Map(mapped(1, 0x1000, 0x4000, 0, "/a"), 10)
	m.Map(mapped(1, 0x2000, 0x1000, 0x8000, "/b"), 20) // in the middle
	m.Map(mapped(1, 0x4000, 0x2000, 0, "/c"), 30)      // over the end
	m.Map(mapped(1, 0x9000, 0x1000, 0, "/far"), 30)
	expectMap(t, m, 1, 0xfff, 40, "", 0)
	expectMap(t, m, 1, 0x1000, 40, "/a", 0)
	expectMap(t, m, 1, 0x2010, 40, "/b", 0x8010)
	expectMap(t, m, 1, 0x3010, 40, "/a", 0x2010)
	expectMap(t, m, 1, 0x4010, 40, "/c", 0x10)
	expectMap(t, m, 1, 0x6000, 40, "", 0)
	// Before the replacement.
	expectMap(t, m, 1, 0x2010, 15, "/a", 0x1010)
	expectMap(t, m, 1, 0x4010, 25, "/a", 0x3010)
	expectMap(t, m, 1, 0x2010, 20, "/b", 0x8010)
	// Rings' clocks differ: a little before anything was mapped.
	expectMap(t, m, 1, 0x9010, 29, "/far", 0x10)
	// A record that comes late does not hide newer mappings.
	m.Map(mapped(1, 0x2000, 0x1000, 0, "/late"), 12)
	expectMap(t, m, 1, 0x2010, 40, "/b", 0x8010)
	expectMap(t, m, 1, 0x2010, 13, "/late", 0x10)
}

func TestOneMappingOverMany(t *testing.T) {
	m := recordedMaps(MappingsOptions{})
	for i := range uint64(10) {
		m.Map(mapped(1, 0x1000*(i+1), 0x1000, 0, "/small"), event.Time(i))
	}
	m.Map(mapped(1, 0x1800, 0x8000, 0, "/big"), 100)
	for addr := uint64(0x1000); addr < 0xb000; addr += 0x400 {
		want, off := "/small", addr&0xfff
		if addr >= 0x1800 && addr < 0x9800 {
			want, off = "/big", addr-0x1800
		}
		expectMap(t, m, 1, addr, 200, want, off)
		expectMap(t, m, 1, addr, 50, "/small", addr&0xfff)
	}
}

func TestForkCopiesAndExecClears(t *testing.T) {
	m := recordedMaps(MappingsOptions{})
	m.Map(mapped(1, 0x1000, 0x1000, 0, "/parent"), 10)
	m.Fork(2, 1, 20)
	m.Map(mapped(1, 0x2000, 0x1000, 0, "/after"), 30) // of the parent only
	m.Map(mapped(2, 0x3000, 0x1000, 0, "/child"), 30)
	expectMap(t, m, 2, 0x1000, 40, "/parent", 0)
	expectMap(t, m, 2, 0x2000, 40, "", 0)
	expectMap(t, m, 2, 0x3000, 40, "/child", 0)
	expectMap(t, m, 1, 0x2000, 40, "/after", 0)
	expectMap(t, m, 1, 0x3000, 40, "", 0)
	m.Exec(2, 1e9)
	m.Map(mapped(2, 0x1000, 0x1000, 0, "/program"), 1e9+1)
	expectMap(t, m, 2, 0x1000, 2e9, "/program", 0)
	expectMap(t, m, 2, 0x3000, 2e9, "", 0)
	expectMap(t, m, 2, 0x1000, 45, "/parent", 0)
	expectMap(t, m, 1, 0x1000, 2e9, "/parent", 0)
}

// TestDuringExec checks that inside of the call to execve, the user's part is still that of the
// program which made the call.
func TestDuringExec(t *testing.T) {
	m := recordedMaps(MappingsOptions{})
	m.Map(mapped(1, 0x1000, 0x1000, 0, "/before"), 10)
	m.Exec(1, 1e9)
	m.Map(mapped(1, 0x5000, 0x1000, 0, "/after"), 1e9+1000)
	expectMap(t, m, 1, 0x1000, 1e9+500, "/before", 0)
	expectMap(t, m, 1, 0x1000, 1e9+2e9, "", 0)
	expectMap(t, m, 1, 0x5000, 1e9+500, "/after", 0)
}

// A number that is used again is another process; the old one stays known.
func TestPIDUsedAgain(t *testing.T) {
	m := recordedMaps(MappingsOptions{})
	m.Map(mapped(1, 0x1000, 0x1000, 0, "/init"), 1)
	for i := range event.Time(5) {
		m.Fork(7, 1, 100*i+10)
		m.Exec(7, 100*i+20)
		m.Map(mapped(7, 0x5000, 0x1000, 0, "/run"+string(rune('0'+i))), 100*i+30)
		m.Exit(7)
	}
	for i := range event.Time(5) {
		expectMap(t, m, 7, 0x5000, 100*i+50, "/run"+string(rune('0'+i)), 0)
	}
}

func TestMappingsAreBounded(t *testing.T) {
	m := recordedMaps(MappingsOptions{MaxSpaces: 100})
	m.Map(mapped(1, 0x1000, 0x1000, 0, "/init"), 1)
	for i := int32(2); i < 5000; i++ {
		m.Fork(i, 1, event.Time(i))
		m.Exec(i, event.Time(i))
		m.Map(mapped(i, 0x5000, 0x1000, 0, "/run"), event.Time(i))
		m.Exit(i)
	}
	if s := m.Stats(); s.Spaces > 101 || s.Evicted < 4000 || len(m.procs) > 101 {
		t.Errorf("got %+v and %d processes, want at most 100", s, len(m.procs))
	}
	lost := recordedMaps(MappingsOptions{MaxSpaces: 100})
	for i := int32(1); i < 5000; i++ { // nobody says that they end
		lost.Map(mapped(i, 0x5000, 0x1000, 0, "/run"), event.Time(i))
		lost.Exec(i%7+1, event.Time(i))
		lost.Map(mapped(i%7+1, 0x5000, 0x1000, 0, "/run"), event.Time(i))
	}
	if s := lost.Stats(); s.Spaces > 201 || len(lost.procs) > 201 {
		t.Errorf("without exits: got %+v, want at most 200", s)
	}
	expectMap(t, m, 1, 0x1000, 9999, "/init", 0)
	expectMap(t, m, 4999, 0x5000, 9999, "/run", 0)
	// A JIT compiler that maps and maps.
	for i := range event.Time(20000) {
		m.Map(mapped(1, 0x8000, 0x1000, uint64(i), "//anon"), 10000+i)
	}
	if s := m.Space(1, event.MaxTime); len(s.old) > maxOld || len(s.regions) != 2 {
		t.Errorf("got %d old and %d new regions", len(s.old), len(s.regions))
	}
}

// TestEndedProcessesAreLetGo checks that ended processes go, but for processes that somebody holds.
func TestEndedProcessesAreLetGo(t *testing.T) {
	m := recordedMaps(MappingsOptions{MaxEnded: 100})
	m.Map(mapped(1, 0x1000, 0x1000, 0, "/init"), 1)
	run := func(pid int32, when event.Time) {
		m.Fork(pid, 1, when)
		m.Exec(pid, when)
		m.Map(mapped(pid, 0x5000, 0x1000, 0, "/run"), when)
	}
	for i := int32(2); i < 5000; i++ {
		run(i, event.Time(i))
		if i%100 == 0 {
			m.Hold(i, event.Time(i))
		}
		m.Exit(i)
	}
	if got, want := m.Stats().Spaces, 1+2*(100+48); got != want {
		t.Errorf(
			"got %d spaces, want %d: of init, and two each, before and after the exec, of the last 100 and of the 48 before them that are held",
			got, want)
	}
	expectMap(t, m, 200, 0x5000, 200, "/run", 0)
	expectMap(t, m, 4900, 0x5000, 4900, "/run", 0)

	// The number of one that is held is used again.
	run(300, 6000)
	m.Release(func() { m.Hold(200, 200) })
	if got, want := m.Stats().Spaces, 1+2*(100+1+1); got != want {
		t.Errorf("after Release: got %d spaces, want %d: of init, of the last 100, one held, one alive",
			got, want)
	}
	expectMap(t, m, 200, 0x5000, 200, "/run", 0)
	expectMap(t, m, 300, 0x5000, 6000, "/run", 0)
	m.Release(func() {})
	if got, want := m.Stats().Spaces, 1+2*(100+1); got != want {
		t.Errorf("after the last Release: got %d spaces, want %d", got, want)
	}
}

func TestDataAndKernelAreNoCode(t *testing.T) {
	m := recordedMaps(MappingsOptions{})
	data := mapped(1, 0x1000, 0x1000, 0, "/data")
	data.Data = true
	m.Map(data, 1)
	m.Map(mapped(1, ^uint64(0)-10, 0x1000, 0, "/wraps"), 1)
	m.Map(mapped(-1, 0x1000, 0x1000, 0, "/nobody"), 1)
	expectMap(t, m, 1, 0x1000, 2, "", 0)
	expectMap(t, m, -1, 0x1000, 2, "", 0)
}

func TestParseMapsLine(t *testing.T) {
	f := func(line string, want Region, exec, ok bool) {
		t.Helper()
		got, id, x, err := parseMapsLine([]byte(line))
		if (err == nil) != ok || x != exec || ok &&
			(got.Start != want.Start || got.End != want.End || got.Off != want.Off || got.Name != want.Name) {
			t.Errorf("%s: got %+v %v %v %v, want %+v", line, got, id, x, err, want)
		}
	}
	f("00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus daemon",
		Region{Start: 0x400000, End: 0x452000, Off: 0x1000, Name: "/usr/bin/dbus daemon"}, true, true)
	f("7f00-8f00 rw-p 00000000 00:00 0", Region{Start: 0x7f00, End: 0x8f00, Name: "//anon"}, false, true)
	f("7ffd0000-7ffd2000 r-xp 00000000 00:00 0                          [vdso]",
		Region{Start: 0x7ffd0000, End: 0x7ffd2000, Name: "[vdso]"}, true, true)
	f(`1000-2000 r-xp 0 fe:00 7 /tmp/a\012b`,
		Region{Start: 0x1000, End: 0x2000, Name: "/tmp/a\nb"}, true, true)
	f("2000-1000 r-xp 0 fe:00 7 /x", Region{}, false, false)
	f("1000 r-xp 0 fe:00 7 /x", Region{}, false, false)
	f("", Region{}, false, false)
}

func FuzzParseMapsLine(f *testing.F) {
	f.Add("00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus daemon")
	f.Add("7f00-8f00 rw-p 00000000 00:00 0")
	f.Fuzz(func(t *testing.T, line string) {
		r, _, _, err := parseMapsLine([]byte(line))
		if err == nil && (r.End <= r.Start || r.Name == "") {
			t.Fatalf("%q: got %+v", line, r)
		}
	})
}

// TestOwnMaps checks that every executable line of our own maps is found.
func TestOwnMaps(t *testing.T) {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	m := NewMappings(MappingsOptions{})
	defer m.Close()
	pid, checked := int32(os.Getpid()), 0
	exe, _ := os.Readlink("/proc/self/exe")
	for line := range strings.Lines(string(b)) {
		want, _, exec, err := parseMapsLine([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		if !exec || want.Name == "[vsyscall]" {
			continue
		}
		expectMap(t, m, pid, want.Start, event.MaxTime, want.Name, want.Off)
		r, _ := m.Find(pid, want.Start, event.MaxTime)
		if want.Name == exe && (r.File == nil || !r.File.Opened() || r.File.Name() != filepath.Clean(exe)) {
			t.Errorf("%s: got file %+v, want it opened", exe, r.File)
		}
		checked++
	}
	if checked < 2 {
		t.Errorf("got %d mappings, want some", checked)
	}
	s := m.Space(pid, event.MaxTime)
	if s.UID != int64(os.Geteuid()) || s.InnerPID <= 0 || s.Root != nil {
		t.Errorf("got user %d, inner pid %d, root %v; want %d, a pid, our own", s.UID, s.InnerPID,
			s.Root, os.Geteuid())
	}
}

func TestFindDoesNotAllocate(t *testing.T) {
	m := recordedMaps(MappingsOptions{})
	for i := range uint64(100) {
		m.Map(mapped(1, 0x1000*i+0x1000, 0x1000, 0, "/a"), 10)
	}
	if n := testing.AllocsPerRun(100, func() { m.Find(1, 0x5010, 20) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func BenchmarkFind(b *testing.B) {
	m := recordedMaps(MappingsOptions{})
	for i := range uint64(100) {
		m.Map(mapped(1, 0x1000*i+0x1000, 0x1000, 0, "/a"), 10)
	}
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		m.Find(1, 0x1010+(i*0x1000)%0x60000, 20)
	}
}
