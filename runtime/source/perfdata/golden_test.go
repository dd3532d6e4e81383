package perfdata

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
)

// goldenLines is the output of perf script for a recording when it was
// made, one string per sample, blanks squeezed.
func goldenLines(t testing.TB, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dataDir, name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return squeeze(string(b))
}

var blanks = regexp.MustCompile(`[ \t]+`)

// squeeze joins each sample, with the callchain below it, into one line.
func squeeze(text string) (lines []string) {
	for _, l := range strings.Split(text, "\n") {
		chain := strings.HasPrefix(l, "\t")
		l = strings.TrimSpace(blanks.ReplaceAllString(l, " "))
		switch {
		case l == "":
		case chain && len(lines) > 0:
			lines[len(lines)-1] += " +"
		default:
			lines = append(lines, l)
		}
	}
	return lines
}

// byTime is all events of an ordered source, merged.
func byTime(t testing.TB, f *File) []event.Event {
	var evs []event.Event
	for _, r := range all(t, f) {
		evs = append(evs, r...)
	}
	slices.SortStableFunc(evs, func(a, b event.Event) int { return int(a.Time - b.Time) })
	return evs
}

// script prints events as perf script does, with the fields that the golden
// files have.
func script(evs []event.Event, cpu, trace, period bool) (lines []string) {
	comms := map[int32]string{}
	for i := range evs {
		e := &evs[i]
		switch e.Kind {
		case event.Comm:
			if c, ok := perf.DecodeComm(e); ok {
				comms[c.TID] = c.Name
			}
		case event.Fork:
			if f, ok := perf.DecodeFork(e); ok {
				comms[f.TID] = comms[f.PTID]
			}
		case event.Sample:
			l := fmt.Sprintf("%s %d/%d", comms[e.TID], e.PID, e.TID)
			if cpu {
				l += fmt.Sprintf(" [%03d]", e.CPU)
			}
			l += fmt.Sprintf(" %d.%09d:", e.Time/1e9, e.Time%1e9)
			if period {
				p, _ := e.Stream.Members.Member(e, event.MemberPeriod)
				l += fmt.Sprintf(" %d", p)
			}
			l += " " + e.Stream.Label + ":"
			if trace {
				l += " " + string(e.Stream.Schema.Text(nil, e))
			}
			l = blanks.ReplaceAllString(l, " ")
			for _, a := range e.Stream.Members.Callchain(e) {
				if int64(a) < 0 && int64(a) >= -4095 { // PERF_CONTEXT_*
					continue
				}
				l += " +"
			}
			lines = append(lines, strings.TrimSpace(l))
		}
	}
	return lines
}

// The decoded events are the events that perf script printed.
func TestEqualsPerfScript(t *testing.T) {
	for _, name := range recordings {
		f := open(t, name, Options{Ordered: true})
		defer f.Close()
		stacks, group := name == "stacks", name == "group"
		got := script(byTime(t, f), !stacks, !stacks && !group && name != "cpus", stacks || group)
		want := goldenLines(t, name)
		compare(t, name, got, want)
	}
}

func compare(t *testing.T, name string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d samples, want %d", name, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("%s: sample %d:\n got %s\nwant %s", name, i, got[i], want[i])
			return
		}
	}
}

// TestOrderedHasAllEvents checks that ordered and unordered reading give the same events.
func TestOrderedHasAllEvents(t *testing.T) {
	for _, name := range recordings {
		count := func(ordered bool) map[string]int {
			f := open(t, name, Options{Ordered: ordered})
			defer f.Close()
			m := map[string]int{}
			for _, r := range all(t, f) {
				for i := range r {
					m[string(r[i].Rec)]++
				}
			}
			return m
		}
		plain, ordered := count(false), count(true)
		if len(plain) != len(ordered) {
			t.Errorf("%s: got %d different records in time order, want %d", name, len(ordered), len(plain))
		}
		for rec, n := range plain {
			if ordered[rec] != n {
				t.Errorf("%s: record % x: got %d times, want %d", name, rec[:8], ordered[rec], n)
			}
		}
	}
}

// synthesized is the names and the file names in a record.
func synthesized(e *event.Event) (comms, maps []string) {
	if c, ok := perf.DecodeComm(e); ok {
		comms = append(comms, c.Name)
	}
	if m, ok := perf.DecodeMmap(e); ok {
		maps = append(maps, m.Name)
	}
	return comms, maps
}
