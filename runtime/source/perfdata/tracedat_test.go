package perfdata

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
)

// traceCmdLine is a line of trace-cmd report -N -t:
// "buffer:   comm-tid   [001]    11.462503699: sys_exit:             NR 1 = 1".
var traceCmdLine = regexp.MustCompile(`^ *(?:(\w+): +)?(\S.*)-(\d+) +\[(\d+)\] *([\d.]+): (\w+): *(.*)$`)

// tracedEvent has the values of an event that both this package and trace-cmd
// report.
type tracedEvent struct {
	time       event.Time
	cpu, tid   int
	buffer     string
	event      string
	comm, text string
}

func (a tracedEvent) compare(b tracedEvent) int {
	if a.time != b.time {
		return int(a.time - b.time)
	}
	return strings.Compare(fmt.Sprint(a.cpu, a.event, a.text), fmt.Sprint(b.cpu, b.event, b.text))
}

// reported reads what trace-cmd report printed, and how many events it says were lost.
func reported(t *testing.T, path string) (all []tracedEvent, gaps int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(z); lines.Scan(); {
		// The kernel prints %p without 0x, trace-cmd with it.
		line := strings.ReplaceAll(lines.Text(), "hrtimer=0x", "hrtimer=")
		m := traceCmdLine.FindStringSubmatch(line)
		switch {
		case m != nil && m[6] == "kernel_stack" && len(all) > 0:
			// No record came between the stack and its event, since the CPUs took
			// turns.
			all[len(all)-1].text += "\n" + strings.TrimSpace(m[7])
		case m != nil:
			at := tracedEvent{buffer: m[1], comm: m[2], event: m[6], text: m[7]}
			at.tid, _ = strconv.Atoi(m[3])
			at.cpu, _ = strconv.Atoi(m[4])
			sec, ns, _ := strings.Cut(m[5], ".")
			n, _ := strconv.ParseInt(sec+ns, 10, 64)
			at.time = event.Time(n)
			all = append(all, at)
		case strings.Contains(line, "EVENTS DROPPED"):
			gaps++
		case line == "\t=> 0x0":
			// The format has room for more addresses than the stack has.
		case strings.HasPrefix(line, "\t=> "):
			all[len(all)-1].text += "\n" + line[1:]
		}
	}
	return all, gaps
}

// readTold reads the events of a recording.
func readTold(t *testing.T, f *File) (all []tracedEvent, lost uint64, gaps int) {
	t.Helper()
	comms := map[int32]string{0: "<idle>"}
	batch := make([]event.Event, 100)
	for over := false; !over; {
		err := f.Poll(context.Background(), time.Second)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		over = err != nil
		for _, r := range f.Rings() {
			_, visible := r.Bounds()
			for n := r.Read(batch, visible); n > 0; n = r.Read(batch, visible) {
				for i := range batch[:n] {
					e := &batch[i]
					switch e.Kind {
					case event.Comm:
						comms[e.TID] = commOf(e)
					case event.Lost:
						lost += uint64(e.Count)
						gaps++
					case event.Sample:
						buffer, _, named := strings.Cut(e.Stream.Label, "/")
						if !named {
							buffer = ""
						}
						text := strings.TrimSpace(string(e.Stream.Schema.Text(nil, e)))
						chain := e.Stream.Members.Callchain(e)
						// The print format has 8 addresses, after the marker.
						for _, addr := range chain[:min(len(chain), 9)] {
							if name, _, _, ok := f.kernel().Ksym(addr); ok {
								text += "\n=> " + name
							} else if addr+128 > 128 { // not the marker
								text += fmt.Sprintf("\n=> %#x", addr)
							}
						}
						all = append(all, tracedEvent{e.Time, int(e.CPU), int(e.TID), buffer,
							e.Stream.Schema.Name,
							comms[e.TID], text})
					}
				}
				r.Release()
			}
		}
	}
	return all, lost, gaps
}

// commOf is the name in a COMM record.
func commOf(e *event.Event) string { return text(e.Rec[16:]) }

// TestTraceDatEqualsTraceCmd compares each event with what trace-cmd report printed
// of the same file: its time to the ns, CPU, thread, name and text.
func TestTraceDatEqualsTraceCmd(t *testing.T) {
	for _, name := range []string{"cmd6", "cmd7", "cmdstack"} {
		for _, ordered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/ordered=%v", name, ordered), func(t *testing.T) {
				f, err := Open("../../../tests/data/"+name+".dat", Options{Ordered: ordered})
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				want, wantGaps := reported(t, "../../../tests/data/"+name+".txt.gz")
				got, lost, gaps := readTold(t, f)
				if l := f.Loss(); !l.Zero() || len(f.Warnings()) > 0 {
					t.Errorf("got loss %+v, warnings %q, want none", l, f.Warnings())
				}
				if want := f.in.(*converter).dat.Overrun; lost != want {
					t.Errorf("lost: got %d, want %d as the kernel counted", lost, want)
				}
				// With --date trace-cmd shows the date, in ns since 1970.
				if c := f.Info().Clock; !c.Wall.IsZero() {
					for i := range got {
						got[i].time += event.Time(c.Wall.UnixNano()) - c.At
					}
				}
				slices.SortStableFunc(got, tracedEvent.compare)
				slices.SortStableFunc(want, tracedEvent.compare)
				if len(got) != len(want) || gaps != wantGaps {
					t.Errorf("got %d events and %d gaps, want %d and %d", len(got), gaps, len(want), wantGaps)
				}
				bad := 0
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] && bad < 5 {
						bad++
						t.Errorf("event %d:\n got %+v\nwant %+v", i, got[i], want[i])
					}
				}
			})
		}
	}
}
