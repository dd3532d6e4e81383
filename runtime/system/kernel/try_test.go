package kernel

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A breakpoint that opens is silent if no write is told, as where a hypervisor
// hides the debug registers: here nothing is written.
func TestSilentBreakpoint(t *testing.T) {
	f := func(writes int64, want bool) {
		t.Helper()
		got := tryBreakpoint(func(word *int64) {
			for i := range writes {
				poke(word, i)
			}
		})
		if got.Err != nil || TryBreakpoint().Silent() {
			t.Skipf("needs breakpoints that fire (%v)", TryBreakpoint().Missing())
		}
		// An emulated arm64 tells a write again that an interrupt came into.
		if got.Silent() != want || got.Came < writes || got.Came > writes+1 || got.works() == want {
			t.Errorf("%d writes: got %+v, silent %v, want %v", writes, got, got.Silent(), want)
		}
	}
	f(0, true)
	f(tryHits-1, true)
	f(tryHits, false)
}

// The messages of a trial, for callers that need the facility.
func TestTrialMissing(t *testing.T) {
	f := func(trial Trial, want string) {
		t.Helper()
		got := ""
		if err := trial.Missing(); err != nil {
			got = err.Error()
		}
		if got != want || trial.works() != (want == "") {
			t.Errorf("%+v: got %q, works %v, want %q", trial, got, trial.works(), want)
		}
	}
	f(Trial{Made: 8, Least: 8, Came: 8}, "")
	f(Trial{Made: 8, Least: 2, Came: 3}, "")
	f(Trial{Made: 8, Least: 8, Came: 3}, "opens, but 3 of 8 hits came")
	f(Trial{Err: unix.ENOENT}, unix.ENOENT.Error())
}

// With any result, a try ends, counts no more than it made (but for
// programs and tracepoints, which others hit too), and leaves no file open.
func TestTriesLeaveNothing(t *testing.T) {
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	// The first reading opens files that stay open, such as Go's poller.
	tryProgram()
	before := files()
	facts, _ := read(Roots{})
	d := &doctor{Facts: facts}
	d.opts.Tracefs = d.mountedTracefs
	all := d.trials()
	for name, try := range map[string]func() Trial{
		"breakpoint":   all.breakpoint,
		"uprobe":       all.uprobe,
		"kprobe":       all.kprobe,
		"tracepoint":   all.tracepoint,
		"switches":     all.switches,
		"sampling":     all.sampling,
		"samplingCPUs": all.samplingCPUs,
		"cycles":       all.cycles,
		"clock":        all.clock,
		"cgroup":       all.cgroup,
		"program":      all.program,
		"idle": func() Trial {
			t := all.idle()[0]
			if t.Made == 0 { // it was busy
				t.Made = 1
			}
			return t
		},
	} {
		got := try()
		t.Logf("%-12s %+v", name, got)
		if got.Err == nil && (got.Made <= 0 || got.Least <= 0 || got.Came < 0) {
			t.Errorf("%s: got %+v, want hits that were made", name, got)
		}
		most := got.Made
		if runtime.GOARCH == "arm64" {
			most++ // a hit comes before its write, which may be interrupted and is then hit again
		}
		if name == "breakpoint" && got.Came > most {
			t.Errorf("%s: got %+v, want no more than were made", name, got)
		}
	}
	if after := files(); after != before {
		t.Errorf("got %d open files, want the %d of before", after, before)
	}
}

// Each facility that opens and stays silent is a warning that says so, with a
// way out; one that cannot be tried is not called silent.
func TestDoctorSilence(t *testing.T) {
	silent := func() Trial { return Trial{Made: 8, Least: 8} }
	refused := func() Trial { return Trial{Err: unix.EPERM} }
	works := func() Trial { return Trial{Made: 8, Least: 8, Came: 8} }
	odd := func() Trial { return Trial{Err: errors.New("odd")} }
	all := func(try func() Trial) *doctor {
		d := &doctor{root: true}
		d.PMUs = []PMU{{Name: "uprobe"}, {Name: "kprobe"}}
		d.try = trials{
			breakpoint:   try,
			uprobe:       try,
			kprobe:       try,
			switches:     try,
			sampling:     try,
			samplingCPUs: try,
			clock:        try,
			idle:         func() []Trial { return []Trial{works(), try()} },
			counters:     func() []Trial { return []Trial{works(), try()} },
		}
		return d
	}
	f := func(try func() Trial, want Status, words string) {
		t.Helper()
		d := all(try)
		for name, check := range map[string]func() Check{
			"breakpoints": d.breakpoints,
			"kprobes":     d.kprobes,
			"uprobes":     d.uprobes,
			"switches":    d.switches,
			"samples":     d.sampling,
			"event clock": d.eventClock,
			"idle events": d.idle,
			"counters":    d.counters,
		} {
			c := check()
			if c.Status != want && !(want == Warn && c.Status == Fail) || !strings.Contains(c.Detail, words) {
				t.Errorf("%s: got %+v, want %v and %q", name, c, want, words)
			}
			if (c.Status == Warn || c.Status == Fail) && c.Fix == "" {
				t.Errorf("%s: got %+v without a way out", name, c)
			}
		}
		opens := ok("opens")
		if c := delivers(opens, try, "nothing comes", "do this"); want == Unknown && c.Status != Unknown ||
			want == OK && c != opens {
			t.Errorf("got %+v, want %v", c, want)
		}
	}
	f(works, OK, "")
	f(silent, Warn, "8")
	f(refused, Warn, "user")
	f(odd, Unknown, "odd")
	if c := all(silent).breakpoints(); !strings.HasPrefix(c.Detail, SilentBreakpoints) ||
		c.Fix != SilentBreakpointsFix {
		t.Errorf("got %+v, want what breakpoint says as well", c)
	}
}

// Hits that another tool's program kept away once are tried again, silence that
// stays is told.
func TestDisturbedTries(t *testing.T) {
	for _, silent := range []int{0, 3, 5, 9} {
		tries := 0
		got := unlessDisturbed(func() Trial {
			tries++
			if tries <= silent {
				return Trial{Made: 10, Least: 10, Came: 9}
			}
			return Trial{Made: 10, Least: 10, Came: 10}
		})
		if want := min(silent+1, 5); got.works() != (silent < 5) || tries != want {
			t.Errorf("%d silent tries: got %+v after %d, want %d", silent, got, tries, want)
		}
	}
}

// Where switches come from the idle task of a CPU, its events come; where several are made to it and none
// come from it they do not, and a CPU that was hardly idle decides nothing.
func TestIdleEventsByCPU(t *testing.T) {
	f := func(made, came int64, want string) {
		t.Helper()
		tr := Trial{Made: made, Came: came, Where: "CPU 1"}
		tr.leaves()
		got := "come"
		switch {
		case errors.Is(tr.Err, errNeverIdle):
			got = "not tried"
		case tr.Silent():
			got = "silent"
		}
		if got != want {
			t.Errorf("%d switches to the idle task, %d from it: got %s, want %s", made, came, got, want)
		}
		d := &doctor{root: true}
		d.try.idle = func() []Trial { return []Trial{{Made: 9, Came: 8, Least: 4, Where: "CPU 0"}, tr} }
		if c := d.idle(); (c.Status == Warn) != (want == "silent") ||
			strings.Contains(c.Detail, "CPU 1") != (want != "come") || strings.Contains(c.Detail, "CPU 0") {
			t.Errorf("%s: got %+v", want, c)
		}
	}
	f(293, 0, "silent")
	f(3, 0, "silent")
	f(3, 1, "come")
	f(18, 18, "come")
	f(2, 0, "not tried")
	f(0, 0, "not tried")
}

// A counter that stands still is named, and those beside it that advance are not; hardware counters that the
// machine does not have are no fault.
func TestCountersThatStandStill(t *testing.T) {
	d := &doctor{root: true}
	list := []Trial{{Made: 8, Came: 8, Least: 1, Where: "page-faults"}, {Err: unix.ENOENT, Where: "cycles"}}
	d.try.counters = func() []Trial { return list }
	if c := d.counters(); c.Status != OK || c.Detail != "advance: page-faults" {
		t.Errorf("got %+v, want that page faults advance", c)
	}
	list = append(list, Trial{Made: 9, Least: 1, Where: "task-clock"})
	if c := d.counters(); c.Status != Warn || c.Detail != "stand still: task-clock (0 where 9 was made)" {
		t.Errorf("got %+v, want task-clock named", c)
	}
	for _, got := range tryCounters() {
		t.Logf("%+v", got)
		if got.Where == "" || got.Err == nil && got.Made <= 0 {
			t.Errorf("got %+v, want an event and what was made", got)
		}
	}
}
