package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
)

// This file makes the message of a run in which no event came. If a person waits for the result, it
// also counts the events on the whole machine for a moment: with a wrong process, or a condition
// that excludes everything, an event seems never to happen.

const (
	outsideTime   = 300 * time.Millisecond // time for which events are counted on the whole machine
	outsideEvents = 8                      // most events that are counted: each is opened on each CPU
	namedEvents   = 3                      // most events that a message names
)

// observed names the events of a run: "sched:sched_switch, sched:sched_waking and 3 more".
func (r *run) observed() string {
	var names []string
	seen := map[string]bool{}
	for _, e := range r.plan.Events {
		if name := e.Stream.Schema.FullName(); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	more := ""
	if n := len(names); n > namedEvents {
		names, more = names[:namedEvents], fmt.Sprintf(" and %d more", n-namedEvents)
	}
	return strings.Join(names, ", ") + more
}

// nothing returns the message that no event came, with the reason as far as it
// is known.
func (r *run) nothing() string {
	if len(r.plan.Events) == 0 {
		return "no events came"
	}
	if r.env.rec.file != nil {
		return "no events came: the recording has none of " + r.observed()
	}
	took := time.Since(r.started).Round(time.Millisecond)
	if took > time.Second {
		took = took.Round(100 * time.Millisecond)
	}
	text := fmt.Sprintf("no events came: 0 of %s in %v", r.observed(), took)
	if others := r.in.skipped.Unread(); others != "" {
		text += "; another tool attached BPF programs there meanwhile (" + others +
			"), which may hide them from perf: a run that begins now takes them by programs"
	}
	if r.cfg.Watching == nil {
		return text
	}
	n, ok := r.outside()
	switch {
	case !ok:
	case n == 0:
		text += fmt.Sprintf("; 0 on the whole machine in %v after that, too", outsideTime)
	default:
		text += fmt.Sprintf("; on the whole machine %d in %v after that", n, outsideTime)
		if why := r.restricted(); why != "" {
			text += ": see whether " + why + " what you mean"
		}
	}
	return text
}

// restricted names the options that exclude events of the machine from the run, as a subject
// and verb: "-p and the filter say".
func (r *run) restricted() string {
	ways := r.cfg.Target.Named()
	if len(r.cfg.Target.CPUs) > 0 {
		ways = append(ways, "-C")
	}
	for _, e := range r.plan.Events {
		if e.Filter != "" || e.Native != nil || e.SampleFilter != nil {
			ways = append(ways, "the filter")
			break
		}
	}
	if len(ways) == 0 {
		return ""
	}
	says := " says"
	if len(ways) > 1 {
		says = " say"
	}
	return strings.Join(ways, " and ") + says
}

// outside counts the run's tracepoints on all CPUs for outsideTime, without filters; ok is false if
// that is not possible.
func (r *run) outside() (n uint64, ok bool) {
	cpus, err := kernel.OnlineCPUs()
	if err != nil {
		return 0, false
	}
	all := r.env.perfConfig(r.plan)
	cfg := perf.Config{Target: perf.Target{CPUs: cpus}, Tracefs: all.Tracefs}
	for _, e := range occurrences(all.Events) {
		if !e.Tracepoint() {
			return 0, false
		}
		e.CPUs = nil
		cfg.Events = append(cfg.Events, e)
	}
	if len(cfg.Events) == 0 || len(cfg.Events) > outsideEvents {
		return 0, false
	}
	ctx, stop := context.WithTimeout(context.Background(), outsideTime)
	defer stop()
	c, err := perf.OpenCounters(ctx, cfg)
	if err != nil {
		return 0, false
	}
	defer c.Close()
	if err := c.Wait(ctx, outsideTime); err != nil && ctx.Err() == nil {
		return 0, false
	}
	counts, err := c.Read(nil)
	for _, one := range counts {
		n += one.Value
	}
	return n, err == nil
}
