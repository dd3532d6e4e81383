package symbol

import (
	"fmt"
	"os"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/target/task"
)

// The map of a program names its own code, and that of no program that the process executed before it
// or after it.
func TestPerfMapsOfSeveralPrograms(t *testing.T) {
	maps := task.NewMappings(task.MappingsOptions{})
	defer maps.Close()
	s := New(Options{Live: true, Maps: maps})
	defer s.Close()
	now, ok := perf.Monotonic()
	if !ok {
		t.Skip("no clock of events")
	}
	pid := os.Getpid()
	path := fmt.Sprintf("/tmp/perf-%d.map", pid)
	defer os.Remove(path)
	write := func(name string, ago time.Duration) {
		t.Helper()
		if err := os.WriteFile(path, []byte("1000 10 "+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-ago)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		s.Refresh()
	}
	before := func(ago time.Duration) event.Time { return event.Time(now) - event.Time(ago) }
	space := func(from, until event.Time) *task.Space {
		return &task.Space{PID: int32(pid), InnerPID: int32(pid), UID: -1, From: from, Until: until}
	}
	first := space(before(9*time.Second), before(5*time.Second))
	second := space(before(5*time.Second), before(3*time.Second))
	third := space(before(3*time.Second), 0)
	f := func(what string, sp *task.Space, want string) {
		t.Helper()
		table, got := s.jitTable(sp), ""
		if table != nil {
			got = table.At(0).Name
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	write("first", 7*time.Second)
	f("the one that wrote it", first, "first")
	f("the next, which wrote none", second, "")
	write("second", 4900*time.Millisecond)
	f("the one before, read in time", first, "first")
	f("the one before, read too late", space(first.From, first.Until), "")
	f("the one that wrote it anew", second, "second")
	f("the last", third, "")
	write("second", 3100*time.Millisecond) // less than a second before the next one
	f("the last, which executed at once", third, "")
	write("third", 0)
	f("the last, which writes it now", third, "third")
	f("the one before it", second, "second")
}
