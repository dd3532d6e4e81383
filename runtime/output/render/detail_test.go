package render

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// details are a pair with everything that a listing can have, one without
// anything between, one that hides everything, one without its end, one that
// nobody wanted a listing of.
func details() []*result.Detail {
	schema := wakeupSchema()
	at := func(us int64, who string) *event.Event {
		e := wakeup(schema, who, "db", 0, 1)
		e.Time = 2206475150000 + event.Time(us*1000)
		return e
	}
	start, end := at(100, "waker"), at(152, "switcher")
	lines := []result.DetailLine{
		{Part: result.Previous, Event: at(94, "early")},
		{Part: result.Between, Event: at(101, "first")},
		{Part: result.Between, Event: at(101, "moved"), State: "migrate"},
		{Part: result.Between, Event: at(110, "ran"), Ran: true, RanNS: 18160, RanComm: []byte("ksoftirqd/48")},
		{Part: result.Between, Hidden: 12},
		{Part: result.Between, Event: at(120, "last")},
		{Part: result.After, Event: at(160, "late")},
		{Part: result.After, Event: at(221, "latest"), State: "sleeping"},
	}
	stack := func(e *event.Event) result.CallStack {
		return result.CallStack{Frames: []*result.Frame{
			{Addr: 0xffffffff81001234, Symbol: "try_to_wake_up", Offset: 0x10, DSO: "[kernel.kallsyms]"},
			{Addr: 0x4011},
		}, Cut: true}
	}
	many := []result.DetailLine{{Part: result.Between, Event: at(101, "first")}}
	for i := range 55 {
		many = append(many, result.DetailLine{Part: result.Between, Event: at(102+int64(i)/2, "busy")})
	}
	return []*result.Detail{
		{Name: "slow", Pair: "wakeup => switch", Start: start, End: end, Listed: true, Lines: lines, Before: 5758, After: 69023},
		{Name: "slow", Pair: "wakeup => switch", Start: start, End: end, Listed: true},
		{Name: "slow", Pair: "wakeup => switch", Start: start, End: end, Listed: true, Evicted: result.Evicted{Some: true, Since: start.Time + 12_345}, Lines: []result.DetailLine{{Part: result.Between, Hidden: 3}}},
		{Name: "slow", Pair: "wakeup", Reason: "lost", Start: start, Until: end.Time, Listed: true, Lines: lines[1:2]},
		{Name: "slow", Pair: "wakeup", Reason: "exit", Start: start, Until: end.Time, Listed: true, Lines: []result.DetailLine{{Part: result.Between, Event: at(101, "x"), State: "running"}}},
		{Name: "log", Pair: "wakeup", Reason: "replaced", Start: start, Until: end.Time},
		{Name: "log", Pair: "wakeup", Reason: "alone", Start: start, Until: start.Time},
		{Name: "slow", Pair: "wakeup => switch", Start: start, End: end},
		{Name: "slow", Pair: "wakeup => switch", Start: start, End: end, Listed: true, Lines: many},
		{Name: "slow", Pair: "wakeup => switch", Start: start, End: end, Listed: true, Lines: lines[1:2], Stack: stack},
	}
}

func TestDetailGolden(t *testing.T) {
	for _, format := range []string{"text", "json", "csv", "markdown"} {
		var out bytes.Buffer
		r, err := New(&out, Options{Format: format, Color: "never", Clock: clock, Location: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range details() {
			if err := r.Show(d); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		ext := map[string]string{"text": "txt", "json": "json", "csv": "csv", "markdown": "md"}[format]
		checkGolden(t, "detail."+ext, out.Bytes())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestDetailReportsTheOutputsError(t *testing.T) {
	for _, format := range []string{"text", "json", "csv", "markdown"} {
		r, err := New(brokenWriter{}, Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		for range 400 {
			if err = r.Show(details()[8]); err != nil {
				break
			}
		}
		if err == nil {
			err = r.Flush()
		}
		if err == nil {
			t.Errorf("%s: got no error from a broken writer", format)
		}
	}
}
