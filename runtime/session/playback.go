package session

import (
	"fmt"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/text/diag"
)

// This file derives the time of a run from the events of a recording. Intervals,
// --from, --to and --duration refer to the times of events, however fast the
// recording is read. So the results are the same as of a live run, and the same each
// time.
//
// Events come in order of time, in slices. A slice is cut at the end of an
// interval: the events before it are passed on, the interval's results are shown,
// then the other events are passed on.
//
// Tempting and wrong: to end the intervals of a pipe by this machine's clock,
// since a pipe delivers events while they happen. The writer buffers events, so
// they would be counted in the interval in which they are read.

// quietIntervals bounds the intervals without events that are shown in a row. A
// live run merges intervals that it could not show in time; in a recording, a
// clock that jumps by days would make millions of them.
const quietIntervals = 1000

// A playback keeps the time of a run over a recording.
type playback struct {
	run      *run
	interval event.Time // 0: one result at the end
	from, to event.Time // the window: events with from <= Time < to count
	begun    bool
	tick     event.Time // end of the current interval
	present  event.Time // present time, set while an interval ends and after the window
	over     bool       // the end of the window was reached
	before   event.Time // the last sample before the window
	inside   bool       // a sample was in the window
	wrong    error      // error in the choice of the window
}

// newPlayback makes the playback of a run; nil if nothing depends on the time
// of a recording.
func newPlayback(r *run) *playback {
	o := &r.cfg.Options
	if r.env.rec.file == nil || o.Interval == 0 && o.Limits.Duration == 0 && !o.Recording.From.IsSet() &&
		!o.Recording.To.IsSet() {
		return nil
	}
	return &playback{run: r, interval: event.Time(o.Interval), to: event.MaxTime}
}

// begin computes the window when the first sample comes.
func (p *playback) begin(first event.Time) error {
	p.begun = true
	o := &p.run.cfg.Options
	s := perfdata.Span{First: first, At: p.run.clock.At, Wall: p.run.clock.Wall}
	if last := p.run.env.rec.file.Info().LastSample; last != 0 {
		s.Last = last
		if conv := p.run.clock.Conv; conv != nil {
			s.Last = conv(last)
		}
	}
	for _, x := range []struct {
		option string
		moment perfdata.Moment
		to     *event.Time
	}{{"--from", o.Recording.From, &p.from}, {"--to", o.Recording.To, &p.to}} {
		if !x.moment.IsSet() {
			continue
		}
		t, err := x.moment.In(s)
		if err != nil {
			return diag.Errorf(diag.Usage, "option", x.option, "%w", err).
				WithHint("give seconds of its clock, as ppscript info %s shows them: %s 12.5",
					o.Recording.Path, x.option)
		}
		*x.to = t
	}
	begin := max(p.from, first) // late events may be before first
	if d := event.Time(o.Limits.Duration); d > 0 && p.to-begin > d {
		p.to = begin + d
	}
	if p.to <= begin {
		return diag.Errorf(diag.Usage, "option", "--to",
			"nothing is left: what is read begins at %s, and --to is %s", seconds(begin), seconds(p.to)).
			WithHint("the first sample is at %s; see: ppscript info %s", seconds(first), o.Recording.Path)
	}
	p.tick = begin + p.interval
	return nil
}

// seconds formats a time like perf script.
func seconds(t event.Time) string {
	return fmt.Sprintf("%.6f", time.Duration(t).Seconds())
}

// pass passes the events within the window to the operators, and ends the
// intervals.
func (p *playback) pass(evs []*event.Event) {
	r := p.run
	start := 0
	hand := func(end int) {
		if end > start && r.results.failed == nil {
			r.instance.Router.Events(evs[start:end])
		}
		start = end
	}
	for i, e := range evs {
		if p.over || p.wrong != nil || r.results.failed != nil {
			return
		}
		if e.Kind == event.Sample && !p.begun {
			if p.wrong = p.begin(e.Time); p.wrong != nil {
				return
			}
		}
		switch {
		case !p.begun || !dated(e):
			// The record of a thread from before the recording: it has no time, or comes
			// before the first sample.
		case e.Time >= p.to:
			hand(i)
			p.present, p.over = p.to, true
			return
		case e.Time < p.from:
			hand(i)
			if e.Kind == event.Sample {
				p.before = e.Time
			}
			if e.Kind != event.Sample && e.Kind != event.Lost {
				// Names and mappings from before the window are needed in it.
				r.instance.Router.Events(evs[i : i+1])
			}
			start = i + 1
		case p.interval > 0 && e.Time >= p.tick:
			hand(i)
			p.endIntervals(e.Time)
		}
		p.inside = p.inside || p.begun && e.Kind == event.Sample && e.Time >= p.from
	}
	hand(len(evs))
}

// end reports an error if the window begins after the end of the recording.
func (p *playback) end() {
	if p.wrong == nil && p.before > 0 && !p.inside && !p.over {
		p.wrong = diag.Errorf(diag.Usage, "option", "--from",
			"nothing is left: what is read ends at %s, and --from is %s", seconds(p.before), seconds(p.from)).
			WithHint("give an earlier time; see: ppscript info %s", p.run.cfg.Options.Recording.Path)
	}
}

// dated reports that e has a time of its own.
func dated(e *event.Event) bool { return e.Time > 0 }

// endIntervals shows the results of all intervals that end at or before t.
func (p *playback) endIntervals(t event.Time) {
	r := p.run
	for n := 0; t >= p.tick && r.results.failed == nil; n++ {
		if left := (t - p.tick) / p.interval; n == quietIntervals && left > 0 {
			r.env.msgs.say("nothing came for %s: %d intervals are not shown",
				time.Duration(left*p.interval), left)
			p.tick += left * p.interval
		}
		p.present, r.account.until = p.tick, p.tick
		if err := r.tick(false); err != nil {
			r.results.failed = err
		}
		p.present, r.account.until = 0, 0
		p.tick += min(p.interval, event.MaxTime-p.tick)
	}
}

// ended returns the end of the interval that is being shown, or the end of the
// window after it was reached; otherwise 0.
func (p *playback) ended() event.Time {
	if p == nil {
		return 0
	}
	return p.present
}
