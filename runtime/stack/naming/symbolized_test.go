package naming

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
)

func symbolize(show FrameDetail, samples ...result.StackSample) *Symbolized {
	s := NewSymbolized()
	n := NewNames(show)
	for i := range samples {
		s.Add(n, &samples[i])
	}
	return s
}

func byCount(t *Tally) int64 { return int64(t.Count) }

// Of stacks that were symbolized the heaviest stay; the others are counted.
func TestSymbolizedStacksAreBounded(t *testing.T) {
	s := NewSymbolized()
	n := NewNames(All)
	for i := range 10 {
		f := &result.Frame{Symbol: "f" + strconv.Itoa(i), DSO: "/bin/x"}
		s.Add(n, &result.StackSample{
			PID:       int32(i),
			Key:       []event.Value{event.StrOf("x")},
			CallStack: result.StackOf(f),
			Count:     uint64(i + 1),
		})
	}
	f := func(most int, evicted uint64, want string) {
		t.Helper()
		s.Bound(most, byCount)
		got, total := "", uint64(0)
		for _, x := range s.List() {
			got += fmt.Sprint(x.Frames[0].Symbol, " ", x.Count, "; ")
			total += x.Count
		}
		if got != want || s.Loss.Evicted != evicted || total != 55 {
			t.Errorf("at most %d: got %d of %d samples evicted, want %d of 55; got\n%s, want\n%s", most,
				s.Loss.Evicted, total, evicted, got, want)
		}
	}
	f(10, 0, "f0 1; f1 2; f2 3; f3 4; f4 5; f5 6; f6 7; f7 8; f8 9; f9 10; ")
	f(4, 28, "f9 10; f8 9; f7 8; __other__ 28; ")
	f(4, 28, "f9 10; f8 9; f7 8; __other__ 28; ") // it counts as one
}

// TestSymbolizedKeysAreBounded checks that threads with names of their own, and nothing in common,
// have no more room.
func TestSymbolizedKeysAreBounded(t *testing.T) {
	s := NewSymbolized()
	const most, rounds = 100, 5000
	for i := range uint64(rounds) {
		n := NewNames(All)
		f := &result.Frame{Symbol: "f" + strconv.Itoa(int(i)), DSO: "/bin/x"}
		s.Add(n, &result.StackSample{
			Key: []event.Value{event.IntOf(int64(i))}, CallStack: result.StackOf(f), Count: 1,
		})
		s.Bound(most, byCount)
		if len(s.samples) > most+1 || len(s.keys) > most+1 || len(s.names) > most+1 || len(s.nodes) > most+2 {
			t.Fatalf("after %d: got %d stacks, %d keys, %d names, %d functions; want at most %d", i,
				len(s.samples), len(s.keys), len(s.names), len(s.nodes), most)
		}
	}
	total := uint64(0)
	for _, x := range s.List() {
		total += x.Count
	}
	if total != rounds || s.Loss.Evicted < rounds-most {
		t.Errorf("got %d samples, %d evicted; want %d, most of them evicted", total, s.Loss.Evicted, rounds)
	}
}

// A symbolized stack takes little: a hundred thousand of forty functions each,
// most of which they share, and their processes are forgotten.
func TestSymbolizedStacksTakeLittle(t *testing.T) {
	const count, depth, each = 100_000, 40, 200
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	s, before := NewSymbolized(), live()
	for i := range count {
		if i%1000 == 0 {
			runtime.GC()
		}
		n := NewNames(InPictures)
		x := result.StackSample{
			PID: int32(i), Key: []event.Value{event.StrOf("x" + strconv.Itoa(i%7))}, Count: 1,
		}
		for k := range depth {
			name := k // shared by all
			if k < 3 {
				name = 100 + (i>>(6*(2-k)))%64 + 64*k
			}
			x.Frames = append(x.Frames, &result.Frame{
				Addr: uint64(i), Symbol: "f" + strconv.Itoa(name), DSO: "/bin/x",
			})
		}
		s.Add(n, &x)
	}
	if got := (live() - before) / count; got > each || len(s.samples) < count/2 || len(s.names) > 64*3+depth {
		t.Errorf("got %d bytes for each of %d stacks of %d functions, want at most %d", got, len(s.samples),
			len(s.names), each)
	}
	runtime.KeepAlive(s)
}

// TestSymbolizedStacksShareFrames checks that samples that are symbolized do not hold what they
// were made from, and functions are one for all processes.
func TestSymbolizedStacksShareFrames(t *testing.T) {
	frame := func(addr uint64, symbol string) *result.Frame {
		f := &result.Frame{Addr: addr, Symbol: symbol}
		if symbol != "" {
			f.DSO = "/bin/x"
		}
		return f
	}
	keys := []event.Value{event.IntOf(1), event.IntOf(2)}
	out := symbolize(All,
		result.StackSample{
			PID:       1,
			Key:       keys[:1],
			CallStack: result.StackOf(frame(0x10, "f"), frame(0x20, "main")),
			Count:     1,
		},
		result.StackSample{
			PID:       2,
			Key:       keys[1:],
			CallStack: result.StackOf(frame(0x910, "g"), frame(0x920, "main"), frame(0x930, "")),
			Count:     1,
		},
		result.StackSample{PID: 3, Key: keys[1:], CallStack: result.StackOf(frame(0x931, "")), Count: 1},
	).List()
	keys[0] = event.IntOf(7)
	if got := out[0].Key[0].Int(); got != 1 {
		t.Errorf("got key %d, want the old one", got)
	}
	a, b, c := out[0].Frames, out[1].Frames, out[2].Frames
	if len(a) != 2 || len(b) != 3 || a[0].Symbol != "f" || a[1] != b[1] || a[0] == b[0] || b[2] == c[0] ||
		b[2].Addr != 0x930 {
		t.Errorf("got %v, %v, %v, want main shared, and what has no name apart", a, b, c)
	}
}

// TestSymbolizedStacksAreMerged checks that equal stacks of several processes are one, of none of
// them.
func TestSymbolizedStacksAreMerged(t *testing.T) {
	sample := func(pid int32, key int64, cut bool, n uint64) result.StackSample {
		f := &result.Frame{Addr: uint64(pid), Symbol: "f", DSO: "/bin/x", Offset: 4}
		return result.StackSample{
			PID:       pid,
			Key:       []event.Value{event.IntOf(key)},
			CallStack: result.CallStack{Frames: []*result.Frame{f}, Cut: cut},
			Count:     n,
			Value:     int64(10 * n),
		}
	}
	got := ""
	for _, x := range symbolize(All, sample(1, 1, false, 1), sample(1, 1, false, 2), sample(2, 2, false, 4),
		sample(3, 2, false, 8), sample(1, 1, true, 16)).List() {
		got += fmt.Sprint(x.PID, " ", x.Key[0], " ", x.Count, " ", x.Value, " ", x.Cut, " ",
			x.Frames[0].Offset, "; ")
	}
	if want := "1 1 3 30 false 4; -1 2 12 120 false 4; 1 1 16 160 true 4; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Where only names are shown, places in a function are no difference.
func TestSymbolizedStacksAreNames(t *testing.T) {
	place := func(symbol string, off uint64) *result.Frame {
		return &result.Frame{
			Addr:    0x1000 + off,
			Symbol:  symbol,
			Offset:  off,
			DSO:     "/bin/x",
			BuildID: "ab",
			File:    "x.c",
			Line:    int(off),
		}
	}
	main := place("main", 9)
	res := &result.Stacks{Samples: []result.StackSample{
		{PID: 1, CallStack: result.StackOf(place("f", 1), main), Count: 1},
		{PID: 1, CallStack: result.StackOf(place("f", 2), main), Count: 2},
		{PID: 2, CallStack: result.StackOf(place("g", 1), main), Count: 4},
		{PID: 2, CallStack: result.StackOf(&result.Frame{Addr: 1}, main), Count: 8},
		{PID: 2, CallStack: result.StackOf(&result.Frame{Addr: 2}, main), Count: 16},
		{PID: 1, CallStack: result.CallStack{Frames: []*result.Frame{place("f", 3), main}, Cut: true}, Count: 32},
	}}
	want := string(render.AppendFolded(nil, res, time.Time{}))
	samples := res.Samples
	for show, stacks := range map[FrameDetail]int{InPictures: 4, InText: 4, All: 6} {
		res.Samples = symbolize(show, samples...).List()
		if got := string(render.AppendFolded(nil, res, time.Time{})); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		if len(res.Samples) != stacks || main.Offset != 9 {
			t.Errorf("got %d stacks, want %d, and frames of others as they were: %+v",
				len(res.Samples), stacks, main)
		}
	}
}

// TestSymbolizedTextIsWords checks that text does not tell functions of one name apart, pictures
// do.
func TestSymbolizedTextIsWords(t *testing.T) {
	var samples []result.StackSample
	for i := range 100 {
		dso := fmt.Sprintf("/tmp/build%d/prog", i)
		frames := []*result.Frame{{Symbol: "f", DSO: dso}, {Symbol: "main", DSO: dso}, {DSO: dso}}
		samples = append(samples, result.StackSample{PID: int32(i), CallStack: result.StackOf(frames...),
			Count: 1})
	}
	for show, want := range map[FrameDetail]int{InPictures: 100, InText: 100} {
		if got := len(symbolize(show, samples...).samples); got != want {
			t.Errorf("code without a name, shown %d: got %d stacks, want %d", show, got, want)
		}
	}
	for i := range samples {
		samples[i].Frames = samples[i].Frames[:2]
	}
	for show, want := range map[FrameDetail]int{InPictures: 100, InText: 1} {
		if got := len(symbolize(show, samples...).samples); got != want {
			t.Errorf("shown %d: got %d stacks, want %d", show, got, want)
		}
	}
}
