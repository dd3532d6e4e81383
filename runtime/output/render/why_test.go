package render

import (
	"bytes"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

// slowWhy is a result with two explained spans, one of them with stacks and in doubt.
func slowWhy() *result.Why {
	db := result.WhyTask{TID: 4711, PID: 4700, Comm: "db"}
	worker := result.WhyTask{TID: 4713, PID: 4700, Comm: "worker-3"}
	cc := result.WhyTask{TID: 99, PID: 99, Comm: "cc1"}
	call := result.WhyLink{Task: db, Kind: result.WhySyscall, What: "openat"}
	lock := result.WhyLink{Task: db, Kind: result.WhyFutex, What: "0x7f12", Whom: worker, Stack: 3,
		WakerStack: 4}
	disk := result.WhyLink{Task: worker, Kind: result.WhyDisk, What: "vdb read, device"}
	own := result.WhyLink{Task: worker, Kind: result.WhyUser}
	behind := result.WhyLink{Task: db, Kind: result.WhyBehind, Whom: cc, Foreign: true}
	unknown := result.WhyLink{Task: db, Kind: result.WhyUnknown, What: "began before the trace"}
	const from = event.Time(2206475000000)
	part := func(at, to event.Time, path ...result.WhyLink) result.WhyPart {
		return result.WhyPart{From: from + at, To: from + to, Path: path}
	}
	first := &result.WhySpan{Label: "openat", Task: db, From: from, To: from + 23104000}
	first.Parts = []result.WhyPart{
		part(0, 120000, call), part(120000, 1020000, lock, own), part(1020000, 23020000, lock, disk),
		part(23020000, 23104000, behind),
	}
	second := &result.WhySpan{Label: "openat", Key: "fd 7", Task: db, Doubt: "12 events of CPU 3 are lost",
		From: from + 30000000, To: from + 42000000}
	for at := event.Time(30000000); at < 41000000; at += 500000 {
		irq := result.WhyLink{Task: db, Kind: result.WhyIRQ, What: "virtio0-req.0"}
		second.Parts = append(second.Parts, part(at, at+490000, call), part(at+490000, at+500000, irq))
	}
	second.Parts = append(second.Parts, part(41000000, 41000500, unknown), part(41000500, 42000000, call))
	any := func(path ...result.WhyLink) []result.WhyLink {
		list := append([]result.WhyLink(nil), path...)
		for i := range list {
			l := &list[i]
			l.Task.TID, l.Task.PID, l.Whom.TID, l.Whom.PID, l.Stack, l.WakerStack = 0, 0, 0, 0, 0, 0
		}
		return list
	}
	irq := any(result.WhyLink{Task: db, Kind: result.WhyIRQ, What: "virtio0-req.0"})
	w := &result.Why{Name: "why", Meta: meta("why", ""), Skipped: 1,
		Slow: result.WhySpans{Spans: 2, NS: 35104000}, Normal: result.WhySpans{Spans: 4000, NS: 1200000000},
		Doubtful: result.WhySpans{Spans: 1, NS: 12000000},
		Causes: []result.WhyCause{
			{Path: any(call), Slow: result.WhySpans{Spans: 2, NS: 11899500}, Normal: result.WhySpans{Spans: 4000, NS: 1000000000}},
			{Path: any(lock, own), Slow: result.WhySpans{Spans: 1, NS: 900000}, Normal: result.WhySpans{Spans: 30, NS: 200000000}},
			{Path: any(lock, disk), Slow: result.WhySpans{Spans: 1, NS: 22000000}},
			{Path: any(behind), Slow: result.WhySpans{Spans: 1, NS: 84000}},
			{Path: irq, Slow: result.WhySpans{Spans: 1, NS: 220000}},
			{Path: any(unknown), Slow: result.WhySpans{Spans: 1, NS: 500}},
		},
		Slowest: []*result.WhySpan{first, second},
		Stacks: map[stack.ID]result.CallStack{
			3: {Frames: []*result.Frame{
				{Addr: 0xffffffff81630014, Symbol: "futex_wait", Offset: 0x44, DSO: "[kernel.kallsyms]", Kernel: true},
				{Addr: 0x401234, Symbol: "take\x1b[31m", Offset: 4, DSO: "/usr/bin/db"}}},
			4: {Frames: []*result.Frame{{Addr: 0x401999, Symbol: "give", DSO: "/usr/bin/db"}}, Cut: true},
		},
		Notes: []string{"page faults cannot be seen here: run as root"},
	}
	w.Meta.Loss = event.Loss{Lost: 12}
	return w
}

func TestWhyGolden(t *testing.T) {
	f := func(name string, o Options, change func(w *result.Why)) {
		t.Helper()
		w := slowWhy()
		change(w)
		o.Clock, o.Location = clock, time.UTC
		var out bytes.Buffer
		r, err := New(&out, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Show(w); err != nil {
			t.Fatal(err)
		}
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		checkGolden(t, name, out.Bytes())
	}
	all := func(*result.Why) {}
	f("why.txt", Options{}, all)
	f("why.json", Options{Format: "json"}, all)
	f("why.csv", Options{Format: "csv"}, all)
	f("why.md", Options{Format: "markdown"}, all)
	f("whyalone.txt", Options{Width: 60}, func(w *result.Why) {
		w.Normal, w.Stacks = result.WhySpans{}, nil
		for i := range w.Causes {
			w.Causes[i].Normal = result.WhySpans{}
		}
		for i := range w.Slowest[0].Parts {
			l := &w.Slowest[0].Parts[i].Path[0]
			l.Stack, l.WakerStack = 0, 0
		}
	})
}

// TestWhyWithoutSlowSpans checks that intervals in which nothing was slow show nothing, unless
// something was lost.
func TestWhyWithoutSlowSpans(t *testing.T) {
	f := func(w *result.Why, want string) {
		t.Helper()
		for _, format := range Formats() {
			var out bytes.Buffer
			r, err := New(&out, Options{Format: format})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Show(w); err != nil {
				t.Fatal(err)
			}
			r.Flush()
			if got := out.String(); want == "" && got != "" || !bytes.Contains(out.Bytes(), []byte(want)) {
				t.Errorf("%s: got %q, want %q", format, got, want)
			}
		}
	}
	f(&result.Why{Name: "why", Normal: result.WhySpans{Spans: 7, NS: 7}}, "")
	f(&result.Why{Name: "why", Meta: result.Meta{Name: "why", Loss: event.Loss{Lost: 12}}}, "12")
	f(&result.Why{Name: "why", Notes: []string{"no block events"}}, "no block events")
}
