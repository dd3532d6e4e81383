package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file has the checks that make events happen and count the hits that are
// delivered, see try.go.

// trials are the functions for the tries of a doctor. Nil ones are left out;
// tests do so.
type trials struct {
	breakpoint, uprobe, kprobe, tracepoint, switches, sampling, samplingCPUs, cycles, clock, cgroup,
	program func() Trial
	idle     func() []IdleTrial // by CPU and part
	counters func() []Trial     // by event
}

// trials returns the trials of the running machine.
func (d *doctor) trials() trials {
	roots := d.opts.Roots
	inTracefs := func(try func(dir string) Trial) func() Trial {
		return func() Trial {
			dir, err := d.opts.Tracefs()
			if err != nil {
				return Trial{Err: err}
			}
			return try(dir)
		}
	}
	return trials{
		breakpoint: TryBreakpoint,
		uprobe:     func() Trial { return TryUprobe(roots) },
		kprobe:     func() Trial { return TryKprobe(roots) },
		tracepoint: inTracefs(TryTracepoint),
		switches:   inTracefs(func(dir string) Trial { return trySwitches(dir, d.CPUs.Online) }),
		idle: func() []IdleTrial {
			samples := TryIdleSamples(roots, d.CPUs.Online)
			dir, err := d.opts.Tracefs()
			if err != nil {
				return append(untriedIdle(d.CPUs.Online, err, IdleSwitches), samples...)
			}
			return append(TryIdle(dir, d.CPUs.Online), samples...)
		},
		sampling:     TrySampling,
		samplingCPUs: func() Trial { return trySamplingCPUs(d.CPUs.Online) },
		cycles:       tryCycles,
		clock:        tryClock,
		cgroup:       func() Trial { return tryCgroup(d.Mounts.PerfCgroup(), d.CPUs.Online) },
		program:      tryProgram,
		counters:     tryCounters,
	}
}

// delivers adds to the check of an event that opens whether its samples are
// delivered. If not, silent says why that matters and fix how to fix it.
func delivers(opens Check, try func() Trial, silent, fix string) Check {
	if opens.Status != OK || try == nil {
		return opens
	}
	switch t := try(); {
	case t.Silent():
		return warn(fmt.Sprintf("%s: %d of %d hits came; %s", opens.Detail, t.Delivered, t.Hits, silent), fix)
	case t.Err != nil:
		return unsure(fmt.Sprintf("%s; it could not be tried: %v", opens.Detail, t.Err), "")
	}
	return opens
}

// Texts for breakpoints that open and never fire: the reason, and the
// alternatives.
const (
	SilentBreakpoints    = "open, but do not fire here: the hypervisor hides the debug registers"
	SilentBreakpointsFix = "use uprobe or kprobe for code; for memory, run on the host or on a machine whose hypervisor has debug registers"
)

func (d *doctor) breakpoints() Check {
	if d.try.breakpoint == nil {
		return unsure("not tried", "")
	}
	switch t := d.try.breakpoint(); {
	case t.works():
		return ok("fire at writes to memory")
	case t.Silent():
		return warn(fmt.Sprintf("%s (%d of %d writes were told)", SilentBreakpoints, t.Delivered, t.Hits),
			SilentBreakpointsFix)
	case absent(t.Err):
		return warn("this kernel has none", "use a kernel with CONFIG_HAVE_HW_BREAKPOINT")
	case denied(t.Err):
		return fail("not allowed to this user", d.grant(d.traceCap().String()))
	default:
		return unsure(fmt.Sprintf("open a breakpoint: %v", t.Err), "")
	}
}

// fires is the check of probes whose PMU exists. It also shows the cost of a
// hit, which differs much between machines.
func (d *doctor) fires(name string, wants Cap, try func() Trial) Check {
	there := "there is a " + name + " PMU"
	if try == nil {
		return ok(there)
	}
	switch t := try(); {
	case t.works():
		return ok(fmt.Sprintf("fire; a hit costs about %v",
			(t.Elapsed / time.Duration(max(t.Hits, 1))).Round(100*time.Nanosecond)))
	case t.Silent():
		return warn(fmt.Sprintf("open, but %d of %d hits came", t.Delivered, t.Hits),
			"report it, with the kernel and the hypervisor, since nothing is known to cause it")
	case denied(t.Err):
		return warn(there+", which this user may not use", d.grant(wants.String()))
	default:
		return unsure(fmt.Sprintf("%s; open a probe: %v", there, t.Err), "")
	}
}

func (d *doctor) eventClock() Check {
	if d.try.clock == nil {
		return unsure("not tried", "")
	}
	switch t := d.try.clock(); {
	case t.works():
		return ok("times of events lie between readings of the monotonic clock")
	case t.Silent():
		return warn(fmt.Sprintf("times of %d in %d events are not between readings of the monotonic clock",
			t.Hits-t.Delivered, t.Hits),
			"see the clocksource with: cat /sys/devices/system/clocksource/clocksource0/*")
	case denied(t.Err):
		return warn("not allowed to this user", d.grant(d.traceCap().String()))
	default:
		return unsure(fmt.Sprintf("stamp events with the monotonic clock: %v", t.Err), "")
	}
}

// sampling checks whether timers sample a thread and each CPU.
func (d *doctor) sampling() Check {
	if d.try.sampling == nil {
		return unsure("not tried", "")
	}
	const slow = "the hypervisor takes the CPU away, or its timers are late; take other numbers of samples for the share of time that they are"
	thread := d.try.sampling()
	switch {
	case thread.Silent():
		return warn(fmt.Sprintf("of a busy thread %d of %d samples came", thread.Delivered, thread.Hits),
			slow)
	case denied(thread.Err):
		return fail("not allowed to this user", d.grant(d.traceCap().String()))
	case thread.Err != nil:
		return unsure(fmt.Sprintf("sample with cpu-clock: %v", thread.Err), "")
	}
	cpus := d.try.samplingCPUs()
	switch {
	case cpus.Silent():
		return warn(fmt.Sprintf("of a CPU %d of %d samples came", cpus.Delivered, cpus.Hits), slow)
	case errors.Is(cpus.Err, nil):
		return ok(fmt.Sprintf("of a busy thread %d of %d samples came, of the worst CPU %d of %d",
			thread.Delivered, thread.Hits, cpus.Delivered, cpus.Hits))
	}
	return ok(fmt.Sprintf("of a busy thread %d of %d samples came", thread.Delivered, thread.Hits))
}

// counters checks, event by event, whether a counter advances while its event happens.
func (d *doctor) counters() Check {
	if d.try.counters == nil {
		return unsure("not tried", "")
	}
	var still, advance []string
	var failed error
	for _, t := range d.try.counters() {
		switch {
		case t.Silent():
			still = append(still, fmt.Sprintf("%s (%d where %d was made)", t.Where, t.Delivered, t.Hits))
		case absent(t.Err):
			// The check of hardware events reports events that do not open.
		case t.Err != nil:
			failed = fmt.Errorf("%s: %w", t.Where, t.Err)
		default:
			advance = append(advance, t.Where)
		}
	}
	switch {
	case len(still) > 0:
		return warn("stand still: "+strings.Join(still, ", "),
			"take no result from them: a count of 0 says nothing here")
	case denied(failed):
		return warn("not allowed to this user", d.grant(d.traceCap().String()))
	case failed != nil:
		return unsure(failed.Error(), "")
	}
	return ok("advance: " + strings.Join(advance, ", "))
}

// switches checks whether context switches are delivered, above all switches
// from the idle task.
func (d *doctor) switches() Check {
	if d.try.switches == nil {
		return unsure("not tried", "")
	}
	switch t := d.try.switches(); {
	case t.works():
		return ok("a thread that sleeps and wakes is seen each time")
	case t.Silent():
		on := ""
		if t.Where != "" {
			on = " on " + t.Where
		}
		return warn(fmt.Sprintf("a thread was switched to %d times%s, and %d were told", t.Hits, on,
			t.Delivered),
			"take results about sleeping tasks for incomplete, but for those of --engine bpf, and report the kernel")
	case denied(t.Err):
		return warn("not allowed to this user", d.grant(d.traceCap().String()))
	default:
		return unsure(t.Err.Error(), "")
	}
}

// idle checks, CPU by CPU, whether events of the idle task are delivered.
func (d *doctor) idle() Check {
	if d.try.idle == nil {
		return unsure("not tried", "")
	}
	var silent, busy []string
	var failed error
	tried, programs := 0, false
	for _, t := range d.try.idle() {
		switch {
		case t.Silent():
			silent = append(silent, fmt.Sprintf("%s (%d of %d %s)", t.Where, t.Delivered, t.Hits, t.Part))
			programs = programs || t.Part != IdleSamples
		case errors.Is(t.Err, errNeverIdle):
			if !slices.Contains(busy, t.Where) {
				busy = append(busy, t.Where)
			}
		case t.Err != nil:
			failed = t.Err
		default:
			tried++
		}
	}
	switch {
	case len(silent) > 0:
		fix := "take no result about idle CPUs from samples there; a restart may bring them back"
		if programs {
			fix = "leave --engine at auto, or take bpf: programs see all but samples; a restart may bring them back"
		}
		return warn("perf does not tell all of those of "+strings.Join(silent, ", "), fix)
	case denied(failed):
		return warn("not allowed to this user", d.grant(d.traceCap().String()))
	case failed != nil:
		return unsure(failed.Error(), "")
	case tried == 0:
		return unsure("no CPU was idle meanwhile", "try again when the machine has less to do")
	case len(busy) > 0:
		return ok("switches, wake-ups and samples of the idle task come; not tried, since busy: " +
			strings.Join(busy, ", "))
	}
	return ok("switches, wake-ups and samples of the idle task come on each CPU")
}
