package why

import (
	"encoding/json"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// breakdownJSON has the members of a breakdown in JSON that are compared.
type breakdownJSON struct {
	Slowest []shownSpan
}

type shownSpan struct {
	Label  string
	Thread shownTask
	Begin  int64
	End    int64
	Doubt  string
	Parts  []struct {
		Since, NS int64
		Path      []struct {
			Kind, What   string
			File         string
			Thread, Whom shownTask
			Foreign      bool
			Cgroup       string
		}
	}
}

type shownTask struct {
	TID, PID int32
	Comm     string
}

var kinds = func() map[string]result.WhyKind {
	m := map[string]result.WhyKind{}
	for k := result.WhyUnknown; k <= result.WhyBlocked; k++ {
		m[k.String()] = k
	}
	return m
}()

// span converts it to a breakdown of runtime/why.
func (s *shownSpan) span(t testing.TB) *result.WhySpan {
	t.Helper()
	span := &result.WhySpan{
		Label: s.Label, Task: result.WhyTask(s.Thread),
		From: event.Time(s.Begin), To: event.Time(s.End), Doubt: s.Doubt,
	}
	for _, p := range s.Parts {
		part := result.WhyPart{From: span.From + event.Time(p.Since)}
		part.To = part.From + event.Time(p.NS)
		for _, l := range p.Path {
			kind, ok := kinds[l.Kind]
			if !ok {
				t.Fatalf("kind of a cause: got %q", l.Kind)
			}
			part.Path = append(part.Path, result.WhyLink{
				Kind: kind, What: l.What, File: l.File, Foreign: l.Foreign, Cgroup: l.Cgroup,
				Task: result.WhyTask(l.Thread), Whom: result.WhyTask(l.Whom),
			})
		}
		span.Parts = append(span.Parts, part)
	}
	return span
}

// readShown returns the spans in the JSON output of ppscript why by thread. Each interval has its
// spans.
func readShown(t testing.TB, output string) map[int32]*result.WhySpan {
	t.Helper()
	all := map[int32]*result.WhySpan{}
	eachShown(t, output, func(s *result.WhySpan) {
		if all[s.Task.TID] != nil {
			t.Fatalf("two spans of thread %d", s.Task.TID)
		}
		all[s.Task.TID] = s
	})
	return all
}

// eachShown calls a function for each of these spans.
func eachShown(t testing.TB, output string, fn func(s *result.WhySpan)) {
	t.Helper()
	for line := range strings.Lines(output) {
		var record struct {
			Type string
			Data breakdownJSON
		}
		if !strings.HasPrefix(line, "{") {
			continue
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		for i := range record.Data.Slowest {
			fn(record.Data.Slowest[i].span(t))
		}
	}
}
