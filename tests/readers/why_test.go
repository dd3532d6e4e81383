package readers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// whyRecord has the members of a record why that are compared.
type whyRecord struct {
	Slow    struct{ Spans, NS int64 }
	Slowest []struct {
		Label      string
		Thread     struct{ TID uint64 }
		Begin, End int64
		Parts      []struct {
			Since, NS int64
			Path      []struct{ Kind string }
		}
	}
}

// A flame graph has the time of all slow spans. A timeline has each span on its thread, with its
// causes below it. The JSON result has the parts from which both are made.
func TestWhyInFiles(t *testing.T) {
	stacks := filepath.Join(t.TempDir(), "why.folded")
	timeline := filepath.Join(t.TempDir(), "why.pftrace")
	markers := filepath.Join(t.TempDir(), "why.json")
	out := testkit.Run(t, testkit.PPScript(t), "why", "-e", "sched:sched_switch//key=prev_pid/",
		"-e", "sched:sched_switch//key=next_pid/", "--than", "1ms", "--input", data(t, "load.data"),
		"--format", "json", "--flame-graph", stacks, "--perfetto", timeline, "--firefox", markers).Want(t, 0)
	found := testkit.All[whyRecord](t, out.Stdout, "why")
	if len(found) != 1 || len(found[0].Slowest) < 3 {
		t.Fatalf("got %.300s, want one result of several slow spans", out.Stdout)
	}
	w := found[0]
	if all, total, _ := folded(t, stacks); all != w.Slow.NS || total["load-0"] == 0 {
		t.Errorf("the flame graph is of %d ns, %d of a thread that was waited for; want %d, and some",
			all, total["load-0"], w.Slow.NS)
	}
	tr := readTrace(t, timeline)
	threadOf := func(s *slice) (tid uint64) {
		thread := tr.tracks[tr.tracks[s.track].num(5)]
		if n, err := fmt.Sscanf(thread.text(2), "thread %d ", &tid); err != nil || n != 1 {
			thread.each(4, func(m message) error { tid = m.num(2); return nil })
		}
		return tid
	}
	text, err := os.ReadFile(markers)
	if err != nil || !json.Valid(text) || strings.Count(string(text), " took ") < len(w.Slowest) {
		t.Errorf("markers: %v, %d spans, want %d", err, strings.Count(string(text), " took "), len(w.Slowest))
	}
	chains := 0
	for _, span := range w.Slowest {
		sum := int64(0)
		for _, p := range span.Parts {
			if p.Since != sum {
				t.Errorf("%s: a part begins at %d, want %d", span.Label, p.Since, sum)
			}
			if sum += p.NS; len(p.Path) > 1 {
				chains++
			}
		}
		if sum != span.End-span.Begin {
			t.Errorf("%s: the parts are %d ns, want %d", span.Label, sum, span.End-span.Begin)
		}
		itself, below := 0, int64(0)
		for i := range tr.slices {
			s := &tr.slices[i]
			if s.begin < span.Begin || s.end > span.End || threadOf(s) != span.Thread.TID {
				continue
			}
			switch tr.tracks[s.track].text(2) {
			case "slow":
				whole := s.begin == span.Begin && s.end == span.End
				if whole && strings.HasPrefix(s.name, span.Label+" of ") {
					itself++
				}
			case "why":
				below += s.end - s.begin
			}
		}
		// The other thread, for which the span waits, may have a slow span of its
		// own meanwhile.
		if itself != 1 || below < sum {
			t.Errorf("%s of %d: %d slices, and %d ns below it, want one and at least %d", span.Label,
				span.Thread.TID, itself, below, sum)
		}
	}
	flows := 0
	for id, at := range tr.leads {
		if to, ok := tr.follows[id]; ok && to == at {
			flows++ // a wait begins where the activity of the other thread begins
		}
	}
	if chains == 0 || flows == 0 {
		t.Errorf("got %d parts with a chain, %d flows, want some of each", chains, flows)
	}
}
