package firefox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result/timeline"
)

// A profile is what these tests look at.
type profile struct {
	Meta struct {
		StartTime    float64
		MarkerSchema []struct {
			Name string
			Data []struct{ Key, Label string }
		}
		Extra []struct {
			Entries []struct {
				Label string
				Value float64
			}
		}
	}
	Threads []struct {
		Name        string
		Tid         int
		StringArray []string
		Markers     struct {
			Name      []int
			StartTime []float64
			EndTime   []*float64
			Data      []map[string]any
		}
	}
}

// instant is an event with two fields, named as members of the format.
func instant(at event.Time) *event.Event {
	num := func(name string, off int) event.Field {
		return event.Field{Name: name, Kind: event.Int, Offset: off, Size: 8, Signed: true}
	}
	st := &event.Stream{Schema: &event.Schema{System: "demo", Name: "point", Size: 24,
		Fields: []event.Field{num("type", 0), num("cause", 8), num("n", 16)}}}
	raw := make([]byte, 24)
	for i := range 3 {
		binary.LittleEndian.PutUint64(raw[8*i:], uint64(i+1))
	}
	return &event.Event{Stream: st, Raw: raw, Rec: raw, Time: at, PID: 7, TID: 7}
}

func closed(t *testing.T, p *Writer, b *bytes.Buffer) (x profile) {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &x); err != nil {
		t.Fatal(err)
	}
	return x
}

// builder makes items of events for a Writer.
func builder(p *Writer) *timeline.Builder {
	return timeline.New(timeline.Options{Writers: []timeline.Writer{p}})
}

// What comes behind the bound is counted, and losses are taken all the same.
func TestBound(t *testing.T) {
	var out bytes.Buffer
	p := New(&out, timeline.About{})
	p.room.most = 3
	b := builder(p)
	for i := range 5 {
		b.Events([]*event.Event{instant(event.Time(1000 + i))})
	}
	b.Lost(9, 2000)
	x := closed(t, p, &out)
	if n := len(x.Threads[0].Markers.Name); n != 3 || p.Dropped() != 2 {
		t.Errorf("got %d markers and %d dropped, want 3 and 2", n, p.Dropped())
	}
	got := fmt.Sprint(x.Meta.Extra)
	if want := "[{[{lost 9} {behind the first 3 samples and markers 2}]}]"; got != want {
		t.Errorf("the profile tells %s, want %s", got, want)
	}
}

// TestReservedKeys checks that fields that are named as members of the format keep their values
// under other keys, which the schema knows.
func TestReservedKeys(t *testing.T) {
	var out bytes.Buffer
	p := New(&out, timeline.About{})
	builder(p).Events([]*event.Event{instant(1000)})
	x := closed(t, p, &out)
	got := fmt.Sprint(x.Threads[0].Markers.Data[0])
	if want := "map[cpu:0 event.cause:2 event.type:1 n:3 type:demo:point]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = fmt.Sprint(x.Meta.MarkerSchema[0].Data[2:])
	if want := "[{event.type type} {event.cause cause} {n n}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A slice comes when it ends, with a begin before that of all others: the profile begins with
// it, by the clock on the wall too.
func TestItemBeforeTheFirst(t *testing.T) {
	var out bytes.Buffer
	p := New(&out, timeline.About{Clock: func(at event.Time) time.Time {
		return time.UnixMilli(1_700_000_000_000).Add(time.Duration(at))
	}})
	b := builder(p)
	start, end := instant(2e6), instant(9e6)
	pair := &event.Stream{Index: 1, Label: "call", Schema: &event.Schema{Name: "pair"}}
	b.Events([]*event.Event{instant(5e6), {Stream: pair, Time: 9e6, PID: 7, TID: 7,
		Derived: &event.Derived{Start: start, End: end}}})
	x := closed(t, p, &out)
	m := x.Threads[0].Markers
	end0, end1 := m.EndTime[0], m.EndTime[1]
	if fmt.Sprint(m.StartTime) != "[3 0]" || end0 != nil || end1 == nil || *end1 != 7 {
		t.Errorf("got markers from %v to %v, want from 3 and from 0 to 7", m.StartTime, m.EndTime)
	}
	if want := 1_700_000_000_002.0; x.Meta.StartTime != want {
		t.Errorf("got start %f, want %f", x.Meta.StartTime, want)
	}
}

// A profile without anything is one; a file that takes nothing is an error.
func TestNothing(t *testing.T) {
	var out bytes.Buffer
	if x := closed(t, New(&out, timeline.About{}), &out); x.Threads == nil || len(x.Threads) != 0 {
		t.Errorf("got %+v, want no threads", x)
	}
	full := errors.New("full")
	if err := New(failing{full}, timeline.About{}).Close(); !errors.Is(err, full) ||
		!strings.Contains(err.Error(), "firefox") {
		t.Errorf("got %v, want the error of the file", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestManyMarkers checks that markers have their own data, however many there are.
func TestManyMarkers(t *testing.T) {
	var out bytes.Buffer
	p := New(&out, timeline.About{})
	b := builder(p)
	const many = 3 * blockBytes / 50
	for i := range many {
		e := instant(event.Time(i))
		binary.LittleEndian.PutUint64(e.Raw[16:], uint64(i))
		b.Events([]*event.Event{e})
	}
	x := closed(t, p, &out)
	for i, data := range x.Threads[0].Markers.Data {
		if data["n"] != fmt.Sprint(i) {
			t.Fatalf("marker %d has %v", i, data)
		}
	}
	blocks := len(p.threads.list[0].markers.data)
	if n := len(x.Threads[0].Markers.Data); n != many || blocks < 3 {
		t.Errorf("got %d markers in %d blocks, want %d in several", n, blocks, many)
	}
}

// Slices that no event stands behind are markers of one kind, by their own names.
func TestMarkersWithoutEvents(t *testing.T) {
	var b bytes.Buffer
	p := New(&b, timeline.About{})
	thread := &timeline.Track{ID: 1, Kind: timeline.OfThread, PID: 7, TID: 7, Name: "db"}
	causes := &timeline.Track{ID: 2, Kind: timeline.OfKey, Name: "why", Parent: thread}
	for i, name := range []string{"user code", "timer: nanosleep"} {
		at := event.Time(1000 * i)
		p.Write(&timeline.Item{Kind: timeline.Slice, Time: at, End: at + 1000, Track: causes, Name: name})
	}
	x := closed(t, p, &b)
	if len(x.Threads) != 1 || len(x.Threads[0].Markers.Name) != 2 {
		t.Fatalf("got %+v, want two markers of one thread", x.Threads)
	}
	for i, want := range []string{"user code", "timer: nanosleep"} {
		of := &x.Threads[0]
		got, kind := of.StringArray[of.Markers.Name[i]], of.Markers.Data[i]["type"]
		if got != want || kind != "why" {
			t.Errorf("marker %d: got %q of type %v, want %q of type why", i, got, kind, want)
		}
	}
}
