package kernel

import (
	"errors"
	"fmt"
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
		// An emulated arm64 reports a write again if an interrupt came during it.
		if got.Silent() != want || got.works() == want ||
			got.Delivered < writes || got.Delivered > writes+writes/4+1 {
			t.Errorf("%d writes: got %+v, silent %v, want %v", writes, got, got.Silent(), want)
		}
	}
	f(0, true)
	f(tryHits/2, true)
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
	f(Trial{Hits: 8, Least: 8, Delivered: 8}, "")
	f(Trial{Hits: 8, Least: 2, Delivered: 3}, "")
	f(Trial{Hits: 8, Least: 8, Delivered: 3}, "opens, but 3 of 8 hits came")
	f(Trial{Err: unix.ENOENT}, unix.ENOENT.Error())
}

// TestTriesLeaveNothing checks that with any result, a try ends, counts no more than it made (but
// for programs and tracepoints, which others hit too), and leaves no file open.
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
			cpus := all.idle()
			if len(cpus) == 0 {
				return Trial{Err: errors.New("no CPU is known to be online")} // without /sys
			}
			t := cpus[0].Trial
			if t.Hits == 0 { // it was busy
				t.Hits = 1
			}
			return t
		},
	} {
		got := try()
		t.Logf("%-12s %+v", name, got)
		if got.Err == nil && (got.Hits <= 0 || got.Least <= 0 || got.Delivered < 0) {
			t.Errorf("%s: got %+v, want hits that were made", name, got)
		}
		most := got.Hits
		if runtime.GOARCH == "arm64" {
			most++ // a hit comes before its write, which may be interrupted and is then hit again
		}
		if name == "breakpoint" && got.Delivered > most {
			t.Errorf("%s: got %+v, want no more than were made", name, got)
		}
	}
	if after := files(); after != before {
		t.Errorf("got %d open files, want the %d of before", after, before)
	}
}

// TestDoctorSilence checks that each facility that opens and stays silent is a warning that says
// so, with a way out; one that cannot be tried is not called silent.
func TestDoctorSilence(t *testing.T) {
	silent := func() Trial { return Trial{Hits: 8, Least: 8} }
	refused := func() Trial { return Trial{Err: unix.EPERM} }
	works := func() Trial { return Trial{Hits: 8, Least: 8, Delivered: 8} }
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
			idle:         func() []IdleTrial { return []IdleTrial{{Trial: works()}, {Trial: try()}} },
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

// TestDisturbedTries checks that hits that another tool's program kept away once are tried again,
// silence that stays is told.
func TestDisturbedTries(t *testing.T) {
	for _, silent := range []int{0, 3, 5, 9} {
		tries := 0
		got := unlessDisturbed(func() Trial {
			tries++
			if tries <= silent {
				return Trial{Hits: 10, Least: 10, Delivered: 9}
			}
			return Trial{Hits: 10, Least: 10, Delivered: 10}
		})
		if want := min(silent+1, 5); got.works() != (silent < 5) || tries != want {
			t.Errorf("%d silent tries: got %+v after %d, want %d", silent, got, tries, want)
		}
	}
}

// TestIdleEventsByCPU checks that as many switches come from the idle task as are made to it, but
// for one, and for some that other programs kept away; each sleep ends with a wake-up, and those
// that are missing were in the idle task. Where they do not come it is said of which CPU and part,
// and a CPU that was hardly idle decides nothing.
func TestIdleEventsByCPU(t *testing.T) {
	f := func(what string, part IdlePart, tr Trial, want string) {
		t.Helper()
		tr.Where = "CPU 1"
		got := "come"
		switch {
		case errors.Is(tr.Err, errNeverIdle):
			got = "not tried"
		case tr.Silent():
			got = "silent"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
		d := &doctor{root: true}
		d.try.idle = func() []IdleTrial {
			return []IdleTrial{{0, part, Trial{Hits: 9, Delivered: 8, Least: 4, Where: "CPU 0"}},
				{1, part, tr}}
		}
		c := d.idle()
		if (c.Status == Warn) != (want == "silent") ||
			strings.Contains(c.Detail, "CPU 1") != (want != "come") || strings.Contains(c.Detail, "CPU 0") ||
			(c.Status == Warn) != strings.Contains(c.Detail, part.String()) {
			t.Errorf("%s: got %+v", what, c)
		}
		if got := SilentIdle(d.try.idle(), part); got != map[string]string{"silent": "CPU 1"}[want] ||
			SilentIdle(d.try.idle(), part+1) != "" {
			t.Errorf("%s: got %q, want it by its part", what, got)
		}
	}
	switches := func(to, from int64, want string) {
		t.Helper()
		f(fmt.Sprintf("%d switches to the idle task, %d from it", to, from), IdleSwitches,
			idleCount{to: to, from: from}.switches(), want)
	}
	switches(293, 0, "silent")
	switches(3, 0, "silent")
	switches(8, 1, "silent") // one is no proof
	switches(3, 3, "come")
	switches(8, 6, "come")
	switches(18, 19, "come")
	switches(2, 0, "not tried")
	switches(0, 0, "not tried")
	wakes := func(sleeps, stays, woken int64, want string) {
		t.Helper()
		f(fmt.Sprintf("%d sleeps, %d of them in the idle task, %d wake-ups", sleeps, stays, woken),
			IdleInterrupts, idleCount{sleeps: sleeps, stays: stays, woken: woken}.wakes(), want)
	}
	wakes(8, 8, 8, "come")
	wakes(8, 8, 0, "silent")
	wakes(40, 5, 40, "come")
	wakes(40, 5, 35, "silent") // those that found the CPU busy came
	wakes(40, 5, 39, "come")
	wakes(40, 2, 38, "not tried")
	samples := func(ticks, came int64, want string) {
		t.Helper()
		tr := Trial{Delivered: came}
		tr.samples(ticks)
		f(fmt.Sprintf("%d ticks, %d samples", ticks, came), IdleSamples, tr, want)
	}
	samples(5, 48, "come")
	samples(5, 10, "come") // the hypervisor had the CPU
	samples(5, 0, "silent")
	samples(2, 0, "silent")
	samples(1, 0, "not tried") // that may be hardly a moment
	samples(0, 0, "not tried")
}

// The account of idle time is read by CPU.
func TestIdleTicks(t *testing.T) {
	dir := t.TempDir()
	const stat = "cpu  10 20 30 400 50 6 7 8 9 0\ncpu0 1 2 3 40 5 0 0 0 0 0\n" +
		"cpu12 1 2 3 360 45 0 0 0 0 0\nintr 12 1 1\n"
	if err := os.WriteFile(dir+"/stat", []byte(stat), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := idleTicks(Roots{Proc: dir})
	if err != nil || len(got) != 2 || got[0] != 45 || got[12] != 405 {
		t.Errorf("got %v, %v, want 45 of CPU 0 and 405 of CPU 12", got, err)
	}
	for _, tr := range TryIdleSamples(Roots{Proc: dir + "/none"}, []int{0}) {
		if tr.Err == nil || tr.Silent() {
			t.Errorf("without an account: got %+v, want an error", tr)
		}
	}
}

// A counter that stands still is named, and those beside it that advance are not; hardware counters that the
// machine does not have are no fault.
func TestCountersThatStandStill(t *testing.T) {
	d := &doctor{root: true}
	list := []Trial{{Hits: 8, Delivered: 8, Least: 1, Where: "page-faults"},
		{Err: unix.ENOENT, Where: "cycles"}}
	d.try.counters = func() []Trial { return list }
	if c := d.counters(); c.Status != OK || c.Detail != "advance: page-faults" {
		t.Errorf("got %+v, want that page faults advance", c)
	}
	list = append(list, Trial{Hits: 9, Least: 1, Where: "task-clock"})
	if c := d.counters(); c.Status != Warn || c.Detail != "stand still: task-clock (0 where 9 was made)" {
		t.Errorf("got %+v, want task-clock named", c)
	}
	for _, got := range tryCounters() {
		t.Logf("%+v", got)
		if got.Where == "" || got.Err == nil && got.Hits <= 0 {
			t.Errorf("got %+v, want an event and what was made", got)
		}
	}
}
