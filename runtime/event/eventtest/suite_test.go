package eventtest

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
)

// fake is a source of two rings over an array, sound or with one defect.
type fake struct {
	defect  string
	stream  *event.Stream
	rings   []event.Ring
	polled  int
	closed  bool
	opening int
}

type fakeRing struct {
	f          *fake
	index      int32
	pos        uint64
	known, vis uint64
	unread     [][]byte // records handed out since Release
}

const (
	perPoll   = 10
	lastPoll  = 5
	perRecord = 8 // bytes of position
)

var openings int

func openFake(defect string) *fake {
	openings++
	f := &fake{
		defect:  defect,
		opening: openings,
		stream:  &event.Stream{Schema: &event.Schema{Name: "fake"}, Label: "fake"},
	}
	for i := range int32(2) {
		f.rings = append(f.rings, &fakeRing{f: f, index: i})
	}
	return f
}

func (f *fake) Streams() []*event.Stream {
	if f.defect == "streams change" && f.polled > 0 {
		return []*event.Stream{f.stream, f.stream}
	}
	return []*event.Stream{f.stream}
}

func (f *fake) Rings() []event.Ring {
	if f.defect == "rings shrink" && f.polled > 1 {
		return f.rings[:1]
	}
	return f.rings
}

func (f *fake) Poll(ctx context.Context, timeout time.Duration) error {
	if f.polled == lastPoll {
		if f.defect == "eof once" {
			return nil
		}
		return io.EOF
	}
	f.polled++
	for i, r := range f.rings {
		r := r.(*fakeRing)
		r.vis += perPoll * perRecord
		r.known = r.vis
		if i == 1 && f.polled != lastPoll {
			r.known -= perRecord
		}
		switch f.defect {
		case "known beyond visible":
			r.known = r.vis + 1
		case "bounds go back":
			if f.polled == 3 {
				r.vis -= 2 * perPoll * perRecord
				r.known = r.vis
			}
		}
	}
	if f.polled == lastPoll {
		return io.EOF
	}
	return nil
}

func (f *fake) Close() error {
	if f.closed && f.defect == "close twice" {
		return os.ErrClosed
	}
	f.closed = true
	return nil
}

func (r *fakeRing) Bounds() (known, visible uint64) { return r.known, r.vis }
func (r *fakeRing) Pos() uint64                     { return r.pos }
func (r *fakeRing) Release()                        { r.unread = nil }

func (r *fakeRing) Read(dst []event.Event, until uint64) int {
	until = min(until, r.vis)
	limit := len(dst)
	if r.f.defect == "short reads" {
		limit = min(limit, 1)
	}
	if r.f.defect == "reads past until" {
		until = r.vis
	}
	n := 0
	for n < limit && r.pos < until {
		k := r.pos / perRecord
		e := &dst[n]
		*e = event.Event{
			Time:   event.Time(10000 + 100*k),
			Stream: r.f.stream,
			Ring:   r.index,
			PID:    -1,
			TID:    -1,
			CPU:    -1,
		}
		e.Rec = []byte{byte(k), 1, 2, 3}
		e.Raw = e.Rec[1:]
		switch r.f.defect {
		case "time goes back":
			e.Time = event.Time(1000 - k)
		case "known too early":
			if r.index == 1 {
				e.Time -= 5000 // older than the known end of ring 0
			}
		case "wrong ring":
			e.Ring = 0
		case "no stream":
			e.Stream = nil
		case "raw elsewhere":
			e.Raw = []byte{1, 2, 3}
		case "views die early":
			for _, old := range r.unread {
				old[0] = 0xff
			}
		case "position stays":
			r.pos -= perRecord
		case "differs by batch":
			e.PID = int32(len(dst))
		case "not repeatable":
			e.TID = int32(r.f.opening)
		}
		r.unread = append(r.unread, e.Rec)
		r.pos += perRecord
		n++
	}
	return n
}

// The suite is content with a sound source, and notices each defect. A suite
// fails its test, so defects are tried in a process of their own.
func TestSuite(t *testing.T) {
	if d := os.Getenv("EVENTTEST_DEFECT"); d != "" {
		Run(t, Suite{
			Open:       func(*testing.T) event.Source { return openFake(d) },
			Repeatable: true,
			Least:      2 * perPoll * lastPoll,
		})
		return
	}
	Run(t, Suite{
		Open:       func(*testing.T) event.Source { return openFake("") },
		Repeatable: true,
		Least:      2 * perPoll * lastPoll,
	})
	for defect, want := range map[string]string{
		"streams change":       "Streams changed",
		"rings shrink":         "Rings: got 1, had 2",
		"eof once":             "Poll after io.EOF",
		"known beyond visible": "is behind visible",
		"bounds go back":       "bounds went back",
		"close twice":          "second Close",
		"short reads":          "before until",
		"reads past until":     "until",
		"time goes back":       "time went back",
		"known too early":      "older than a known one",
		"wrong ring":           "event says ring 0",
		"no stream":            "without a stream",
		"raw elsewhere":        "not a part of Rec",
		"views die early":      "changed before Release",
		"position stays":       "did not move from",
		"differs by batch":     "batches of 1",
		"not repeatable":       "batches of 1",
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSuite$", "-test.timeout=10s")
			cmd.Env = append(os.Environ(), "EVENTTEST_DEFECT="+defect)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "panic:") {
				t.Errorf("got %v and no %q in\n%s", err, want, out)
			}
		})
	}
}
