package task

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"ppscript/runtime/event"
)

func recorded() *Table { return New(Options{NoProc: true}) }

func expect(t *testing.T, tab *Table, tid int32, want string) {
	t.Helper()
	if got := tab.Comm(tid); got != want {
		t.Errorf("comm of %d: got %q, want %q", tid, got, want)
	}
}

func TestNameIsNeverEmpty(t *testing.T) {
	tab := recorded()
	expect(t, tab, 0, "swapper")
	expect(t, tab, -1, "[exited]")
	expect(t, tab, 4711, "pid-4711")
	f := func(e event.Event, want string) {
		t.Helper()
		if got := tab.Of(&e); got != want {
			t.Errorf("%+v: got %q, want %q", e, got, want)
		}
	}
	f(event.Event{TID: 0, CPU: 3}, "swapper/3")
	f(event.Event{TID: 0, CPU: -1}, "swapper")
	f(event.Event{TID: -1, CPU: 1}, "[exited]")
}

func TestNamesOverTime(t *testing.T) {
	tab := recorded()
	tab.rename(10, "bash", 100)
	tab.fork(11, 10, 200)
	expect(t, tab, 11, "bash")
	tab.rename(11, "ls", 300)
	expect(t, tab, 11, "ls")
	expect(t, tab, 10, "bash")

	// An older event that comes later still gets the older name.
	if got := tab.Of(&event.Event{TID: 11, Time: 250}); got != "bash" {
		t.Errorf("before the exec: got %q, want bash", got)
	}
	if got := tab.Of(&event.Event{TID: 11, Time: 300}); got != "ls" {
		t.Errorf("from the exec on: got %q, want ls", got)
	}
	// A record that comes late does not replace the newer name.
	tab.rename(11, "sh", 280)
	expect(t, tab, 11, "ls")

	// A dead thread keeps its name; its number in use again does not.
	tab.exit(11)
	expect(t, tab, 11, "ls")
	tab.rename(20, "cron", 350)
	tab.fork(11, 20, 400)
	expect(t, tab, 11, "cron")
	if got := tab.Of(&event.Event{TID: 11, Time: 390}); got != "ls" {
		t.Errorf("the thread before: got %q, want ls", got)
	}
	// The child of an unknown thread is unknown, whichever thread had its number before.
	tab.fork(11, 999, 500)
	expect(t, tab, 11, "pid-11")
}

func TestGuessGivesWay(t *testing.T) {
	tab := recorded()
	expect(t, tab, 7, "pid-7")
	tab.rename(7, "late", 50)
	expect(t, tab, 7, "late")
	if got := tab.Of(&event.Event{TID: 7, Time: 10}); got != "late" {
		t.Errorf("older event: got %q, want the first real name, late", got)
	}
}

func TestProcIsReadOnce(t *testing.T) {
	root := t.TempDir()
	write := func(tid int, comm string) {
		dir := filepath.Join(root, strconv.Itoa(tid))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "comm"), []byte(comm+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(5, "db worker")
	tab := New(Options{Proc: root})
	expect(t, tab, 5, "db worker")
	write(5, "renamed")
	expect(t, tab, 5, "db worker")
	expect(t, tab, 6, "pid-6")
	expect(t, tab, 6, "pid-6")
	// A thread of an unknown parent has the parent's name.
	tab.fork(8, 5, 100)
	expect(t, tab, 8, "db worker")
	if got := tab.Stats().ProcReads; got != 2 {
		t.Errorf("got %d reads, want 2", got)
	}
	// The kernel's record knows better.
	tab.rename(5, "exact", 100)
	expect(t, tab, 5, "exact")
}

func TestOwnName(t *testing.T) {
	f := func(comm, want string) {
		t.Helper()
		if got := ownName(comm); got != want {
			t.Errorf("%s: got %q, want %q", comm, got, want)
		}
	}
	f("kworker/0:2-events", "kworker/0:2")
	f("kworker/u8:1+flush-254:0", "kworker/u8:1")
	f("kworker/1:0H-kblockd", "kworker/1:0H")
	f("kworker/R-netns", "kworker/R-netns")
	f("kworker/0:2", "kworker/0:2")
	f("my-prog:x-y", "my-prog:x-y")
}

func TestProcOfThisThread(t *testing.T) {
	b, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	want := string(b[:len(b)-1])
	expect(t, New(Options{}), int32(os.Getpid()), want)
}

func TestMemoryIsBounded(t *testing.T) {
	tab := New(Options{NoProc: true, MaxDead: 100, MaxThreads: 1000})
	for i := int32(1); i <= 5000; i++ {
		tab.rename(i, "t"+strconv.Itoa(int(i)), event.Time(i))
		tab.exit(i)
	}
	if got := tab.Stats(); got.Threads != 100 || got.Evicted != 4900 {
		t.Errorf("ended threads: got %+v, want 100 threads and 4900 evicted", got)
	}
	expect(t, tab, 5000, "t5000")
	expect(t, tab, 4901, "t4901")
	expect(t, tab, 4900, "pid-4900")

	// Threads whose end nobody reports.
	tab = New(Options{NoProc: true, MaxThreads: 1000})
	for i := int32(1); i <= 5000; i++ {
		tab.rename(i, "t", event.Time(i))
		tab.rename(1, "hot", event.Time(i))
		tab.Comm(1)
	}
	if got := tab.Stats(); got.Threads != 1000 || got.Evicted < 4000 || len(tab.slots) != 1000 {
		t.Errorf("threads without end: got %+v in %d slots, want 1000 threads", got, len(tab.slots))
	}
	if slot, ok := tab.index[1]; !ok || tab.slots[slot].name != "hot" {
		t.Error("a thread that is asked for all the time was evicted")
	}
}

// switchSchema is sched:sched_switch.
var switchSchema = &event.Schema{System: "sched", Name: "sched_switch", Fields: []event.Field{
	{Name: "prev_comm", Kind: event.Str, Offset: 8, Size: 16},
	{Name: "prev_pid", Offset: 24, Size: 4, Signed: true},
	{Name: "next_comm", Kind: event.Str, Offset: 28, Size: 16},
	{Name: "next_pid", Offset: 44, Size: 4, Signed: true},
}}

func switchEvent(tab *Table, prev string, prevPID int32, next string, nextPID int32,
	when event.Time) *event.Event {
	raw := make([]byte, 48)
	copy(raw[8:], prev)
	binary.LittleEndian.PutUint32(raw[24:], uint32(prevPID))
	copy(raw[28:], next)
	binary.LittleEndian.PutUint32(raw[44:], uint32(nextPID))
	return &event.Event{
		Time:   when,
		TID:    prevPID,
		CPU:    1,
		Raw:    raw,
		Stream: &event.Stream{Schema: switchSchema, Comm: tab.Of},
	}
}

func TestEventsTellNames(t *testing.T) {
	tab := recorded()
	e := switchEvent(tab, "db", 42, "kworker/1:0", 43, 100)
	if got := tab.Of(e); got != "db" {
		t.Errorf("thread that is switched away: got %q, want db", got)
	}
	expect(t, tab, 43, "kworker/1:0")
	// A newer event renames, an older one does not.
	tab.Of(switchEvent(tab, "kworker/1:1", 43, "swapper/1", 0, 200))
	expect(t, tab, 43, "kworker/1:1")
	tab.Of(switchEvent(tab, "kworker/1:0", 43, "swapper/1", 0, 150))
	expect(t, tab, 43, "kworker/1:1")
	if got := tab.Of(switchEvent(tab, "swapper/1", 0, "db", 42, 300)); got != "swapper/1" {
		t.Errorf("idle task: got %q, want swapper/1", got)
	}
}

func TestPairsOf(t *testing.T) {
	f := func(system, name, want string, fields ...string) {
		t.Helper()
		s := &event.Schema{System: system, Name: name}
		for _, field := range fields {
			kind := event.Int
			if l := len(field); l >= 4 && field[l-4:] == "comm" {
				kind = event.Str
			}
			s.Fields = append(s.Fields, event.Field{Name: field, Kind: kind})
		}
		got := ""
		for _, p := range pairsOf(s).pairs {
			got += fmt.Sprintf("%s=%s ", p.pid.Name, p.comm.Name)
		}
		if got != want {
			t.Errorf("%s:%s: got pairs %q, want %q", system, name, got, want)
		}
	}
	f("sched", "sched_wakeup", "pid=comm ", "comm", "pid")
	f("sched", "sched_process_fork", "parent_pid=parent_comm child_pid=child_comm ", "parent_comm", "parent_pid", "child_comm", "child_pid")
	f("task", "task_rename", "pid=newcomm ", "pid", "oldcomm", "newcomm")
	f("sched", "sched_process_wait", "", "comm", "pid")
	f("probes", "mine", "", "comm", "pid")
	f("sched", "no_pid", "", "comm")
}

func TestLookUpDoesNotAllocate(t *testing.T) {
	tab := recorded()
	e := switchEvent(tab, "db", 42, "kworker/1:0", 43, 100)
	other := &event.Event{TID: 77, Stream: &event.Stream{Schema: &event.Schema{Name: "x"}}, Raw: []byte{0}}
	tab.Of(e)
	n := testing.AllocsPerRun(100, func() {
		e.Time++
		if tab.Of(e) != "db" || tab.Of(other) != "pid-77" || tab.Comm(43) != "kworker/1:0" {
			t.Fatal("wrong name")
		}
	})
	if n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// record is a perf record: header, body.
func record(typ uint32, misc uint16, body ...any) []byte {
	b := binary.LittleEndian.AppendUint32(nil, typ)
	b = binary.LittleEndian.AppendUint16(b, misc)
	b = append(b, 0, 0)
	for _, v := range body {
		switch v := v.(type) {
		case string:
			b = append(b, v...)
		case int:
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	binary.LittleEndian.PutUint16(b[6:], uint16(len(b)))
	return b
}

func TestRecords(t *testing.T) {
	tab := recorded()
	tab.Record(&event.Event{Kind: event.Comm, Time: 10, Rec: record(3, 0, 50, 50, "daemon\x00\x00")})
	tab.Record(&event.Event{Kind: event.Fork, Time: 20, Rec: record(7, 0, 50, 50, 51, 50, uint64(20))})
	tab.Record(&event.Event{Kind: event.Comm, Time: 30, Rec: record(3, 0x2000, 50, 51, "helper\x00\x00")})
	expect(t, tab, 50, "daemon")
	expect(t, tab, 51, "helper")
	tab.Record(&event.Event{Kind: event.Exit, Time: 40, Rec: record(4, 0, 50, 50, 51, 50, uint64(40))})
	expect(t, tab, 51, "helper")
	if len(tab.dead) != 1 {
		t.Errorf("after the exit: got %d dead threads, want 1", len(tab.dead))
	}
	tab.Record(&event.Event{Kind: event.Comm, Rec: record(3, 0, 50)}) // too short
	expect(t, tab, 50, "daemon")
}

func BenchmarkOf(b *testing.B) {
	tab := recorded()
	e := switchEvent(tab, "db", 42, "kworker/1:0", 43, 100)
	b.ReportAllocs()
	for b.Loop() {
		e.Time++
		tab.Of(e)
	}
}
