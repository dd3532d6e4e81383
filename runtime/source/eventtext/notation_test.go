package eventtext

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/event/eventtest"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/text/diag"
)

const sample = `
# two events
sched:sched_switch prev_pid:s32 prev_comm:str took:ns
irq:softirq vec:u8 name:dstr args:u64[3]

3us 1 lost 7
1us   0 bash/10    sched_switch prev_pid=-10 prev_comm="a b" took=2ms
2.5us 1 dd/20/21   irq:softirq vec=255 name="x y" args=1,0x2 # and more
`

func read(t *testing.T, text string) (*perfdata.File, []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.data")
	if err := write(path, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	f, err := perfdata.Open(path, perfdata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	var lines []string
	dst := make([]event.Event, 8)
	for err == nil {
		err = f.Poll(context.Background(), time.Second)
		for _, r := range f.Rings() {
			_, visible := r.Bounds()
			for r.Pos() < visible {
				for _, e := range dst[:r.Read(dst, visible)] {
					lines = append(lines, show(&e))
				}
				r.Release()
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return f, lines
}

func show(e *event.Event) string {
	switch e.Kind {
	case event.Lost:
		return fmt.Sprintf("%d cpu %d lost %d", e.Time, e.CPU, e.Count)
	case event.Sample:
		s := fmt.Sprintf("%d cpu %d %d/%d %s", e.Time, e.CPU, e.PID, e.TID, e.Stream.Schema.FullName())
		for i := range e.Stream.Schema.Fields {
			if f := &e.Stream.Schema.Fields[i]; !strings.HasPrefix(f.Name, "common_") {
				s += fmt.Sprintf(" %s=%s", f.Name, f.Value(e))
			}
		}
		return s
	}
	return fmt.Sprintf("%d %v %d/%d", e.Time, e.Kind, e.PID, e.TID)
}

func TestWrittenEventsAreRead(t *testing.T) {
	_, got := read(t, sample)
	want := []string{
		"1000 Comm 10/10",
		"1000 cpu 0 10/10 sched:sched_switch prev_pid=-10 prev_comm=a b took=2000000",
		"2500 Comm 20/21",
		"2500 cpu 1 20/21 irq:softirq vec=255 name=x y args=(1, 2, 0)",
		"3000 cpu 1 lost 7",
	}
	for i := range want {
		want[i] = strings.Replace(want[i], "Comm", fmt.Sprint(event.Comm), 1)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSourceSuite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.data")
	if err := write(path, strings.NewReader(sample)); err != nil {
		t.Fatal(err)
	}
	eventtest.Run(t, eventtest.Suite{Open: func(t *testing.T) event.Source {
		f, err := perfdata.Open(path, perfdata.Options{Ordered: true})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}, Repeatable: true, Least: 2})
}

func TestErrorsNameTheLine(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		err := write(filepath.Join(t.TempDir(), "x"), strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	f("", "no event is declared")
	f("a:b x\n", `line 1: field x: got type ""`)
	f("a:b x:u9\n", `got type "u9"`)
	f("a:b size:u8\n1us 0 1 b sise=1", "line 2: event b: no field sise (did you mean size?)")
	f("a:b x:u8\n1us 0 1 b x=256", "256 does not fit u8")
	f("a:b x:s8\n1us 0 1 b x=-129", "-129 does not fit s8")
	f("a:b x:u8\n1us 0 1 b x=-1", "got -1, want at least 0")
	f("a:b x:u8\n1us 0 1 c x=1", "event c is not declared")
	f("a:b x:str4\n1us 0 1 b x=hello", "longer than 4 bytes")
	f("a:b x:str\n1us 0 1 b x=\"no end", "a text without its end")
	f("a:b\n1us 0 abc", "thread: got abc")
	f("a:b\n1us x 1", "cpu: got x")
	f("a:b\nsoon 0 1", "line 2:")
	f("a:b\na:b", "declared twice")
	f("a:b x:u64[4096] y:u8", "larger than")
}

// A file that is held as a whole has a bound; recordings have none.
func TestRecordingIsBounded(t *testing.T) {
	f := func(head string, want string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "input")
		if err := os.WriteFile(path, []byte(head), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, maxEvents+1); err != nil { // the rest is a hole
			t.Fatal(err)
		}
		got, err := Recording(path, func() (string, error) { return t.TempDir(), nil })
		switch {
		case want == "" && (err != nil || got != path):
			t.Errorf("%q: got %q, %v; want the file itself", head, got, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || diag.HintOf(err) == ""):
			t.Errorf("%q: got %v, want %q and a hint", head, err, want)
		}
	}
	f("a:b x:u8\n", "too large: it has more than 16MiB")
	f("PERFILE2", "")
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("a:b x:u64[4096]\n1 0 1 b x=1,2,3")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse(strings.NewReader(text))
		if (err == nil) != (c != nil) {
			t.Fatalf("got %v, %v", c, err)
		}
		if err != nil {
			return
		}
		for i := range c.entries {
			e := &c.entries[i]
			if n := len(e.record()); n%8 != 0 || n > 0xffff {
				t.Fatalf("record of %d bytes", n)
			}
		}
	})
}
