package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/record/latetext"
	"ppscript/runtime/system/poll"
)

// A Source implements event.Source for live events, with the rings of
// perf_event_open. It is used by one goroutine. To end it, another goroutine
// cancels the context of Poll; the owner then calls Stop, polls once more and
// reads the rest.
type Source struct {
	cfg      Config
	att      *attachment
	open     *opener
	opened   int   // number of open descriptors
	plug     *plug // nil if CPUs are not followed
	warnings []error

	openStreams
	ringSet
	waking
	rest
	tasks tasks
	state
}

// openStreams has the streams of the events that opened.
type openStreams struct {
	streams  []*event.Stream
	byEvent  []*event.Stream // by index in Config.Events, nil if it did not open
	byRecord []*event.Stream // by index in Programs.Records
	late     latetext.Texts
	layouts  map[int]*Layout // by index in Config.Events, -1 for the dummy
	aside    bool            // side records are not events of the run
}

// A ringSet has the rings and buffers from which records are read.
type ringSet struct {
	live    []*ring
	buffers []*buffer
	rings   []event.Ring // both
	pump    *pump        // for the rings with spools; nil if there are none
}

// A waking has the descriptors that wake Poll.
type waking struct {
	poll    *poll.Poller
	pollFD  []int // by ring of the attachment: the descriptor that poll watches
	cursor  []int // by ring: index in open.fds at which the search for the next descriptor begins
	wakeups uint64
}

// A state is the state of a source, and the type for which it was opened.
type state struct {
	stopped  bool // the events are disabled, the rings get no more records
	off      bool // Switch has disabled the events
	eof      bool
	counting bool // for Counters, and for Hooks
	hooked   bool // for Hooks
}

var (
	_ event.Source  = (*Source)(nil)
	_ event.Ring    = (*ring)(nil)
	_ event.Members = (*Layout)(nil)
)

// Open opens the events of cfg on its target and starts them. On an error
// nothing stays open. Close releases the source.
func Open(ctx context.Context, cfg Config) (*Source, error) {
	s := &Source{cfg: cfg}
	if err := s.cfg.check(); err != nil {
		return nil, err
	}
	if err := s.start(ctx, false); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Streams implements event.Source: the opened events, in the order of
// Config.Events.
func (s *Source) Streams() []*event.Stream { return s.streams }

// StreamOf returns the stream of Config.Events[i], nil if that event is
// optional and did not open.
func (s *Source) StreamOf(i int) *event.Stream { return s.byEvent[i] }

// DerivedStreams returns the streams of Programs.Records.
func (s *Source) DerivedStreams() []*event.Stream { return s.byRecord }

// Rings implements event.Source.
func (s *Source) Rings() []event.Ring { return s.rings }

// Warnings lists the events and threads that Open skipped.
func (s *Source) Warnings() []error { return s.warnings }

// drainEvery bounds the time for which records below the watermark wait, while
// there are events.
const drainEvery = 100 * time.Millisecond

// Poll implements event.Source. It returns early when a ring has reached the
// watermark, and after 100 ms if there are any records. After a while without
// records, it returns at the first event. Wake also ends it. It returns io.EOF
// when the targets have ended or Stop was called, and ctx's error when ctx is
// done; the bounds are set in both cases.
func (s *Source) Poll(ctx context.Context, timeout time.Duration) error {
	s.pump.end()
	err := s.wait(ctx, timeout)
	if !s.eof {
		s.pump.begin()
	}
	return err
}

func (s *Source) wait(ctx context.Context, timeout time.Duration) error {
	if s.eof {
		if s.poll != nil { // not closed
			s.look()
		}
		return io.EOF
	}
	deadline := time.Now().Add(timeout)
	for {
		if err := ctx.Err(); err != nil {
			s.look()
			return err
		}
		left := time.Until(deadline)
		if s.stopped {
			left = 0
		}
		step := min(left, s.step())
		woken, err := s.poll.Wait(ctx, step)
		if err != nil {
			return fmt.Errorf("wait for rings: %w", err)
		}
		if woken {
			s.wakeups++
		}
		s.hangups()
		// Return at once also if a CPU came online: the caller may have other sources to update
		// that are not polled.
		early := s.poll.Called || s.poll.CPUs || len(s.rings) == 0
		s.follow(time.Now())
		s.poll.CPUs = false
		if s.stopped || s.ended() {
			if err := s.finish(); err != nil {
				return err
			}
			s.look()
			return io.EOF
		}
		some := s.look()
		if !some && woken && s.bells.On {
			time.Sleep(bellLag)
			some = s.look()
		}
		s.found(some || woken)
		if some || left <= step || early {
			return ctx.Err()
		}
	}
}

// settle is the time between the first and the second look. A record gets its
// time a little before it becomes visible. Records with times before the first
// look are visible at the second, unless an interrupt came in between.
const settle = 10 * time.Microsecond

// look moves the bounds of all rings and reports whether there are records to
// read. If programs send the events, the rings have only side records of the
// whole machine, which can wait.
func (s *Source) look() bool {
	some, aside := false, false
	for _, r := range s.live {
		r.first = r.readable()
		aside = aside || r.first != r.pos
	}
	for _, b := range s.buffers {
		b.first = b.Head()
		some = some || b.first != b.pos
	}
	several := len(s.rings) > 1
	if (some || aside) && several && !s.eof {
		for start := time.Now(); time.Since(start) < settle; {
		}
	}
	if s.att.family != nil {
		s.att.family.learn(s.live)
	}
	for _, r := range s.live {
		visible := r.readable()
		if f := s.att.family; f != nil && f.tids != nil {
			visible = r.first // all FORK records before this position were read
		}
		r.look(visible)
		r.known = r.first
		if !several {
			r.known = r.visible
		}
		aside = aside || r.visible != r.pos
		r.stat.PeakBytes = max(r.stat.PeakBytes, r.visible-r.pos)
	}
	s.late.Drain()
	for _, b := range s.buffers {
		b.look(several)
		some = some || b.visible != b.pos
	}
	return some || aside && !s.cfg.later()
}

// later reports that the rings have only side records that are not needed
// before there are events.
func (c *Config) later() bool {
	b := c.SideBand
	return c.projected() && !b.BPF && !b.Cgroup && !b.TextPoke
}

// Stop disables the events. The next Poll makes the remaining records visible
// and returns io.EOF.
func (s *Source) Stop() error {
	if s.stopped {
		return nil
	}
	s.stopped = true
	s.bells.Close()
	if s.cfg.Programs.Detach != nil {
		if err := s.cfg.Programs.Detach(); err != nil {
			return err
		}
		s.late.End()
	}
	return s.open.disable()
}

// Switch enables or disables the events of a source. Side records are not affected.
func Switch(s *Source, on bool) error {
	if s.stopped {
		return nil
	}
	s.off = !on
	return s.open.turn(on)
}

// finish ends the source: the rings get no more records, and losses that the
// kernel could not report are appended.
func (s *Source) finish() error {
	if s.eof {
		return nil
	}
	if err := s.Stop(); err != nil {
		return err
	}
	s.eof = true
	for _, r := range s.live {
		r.ended = true
		if r.spool != nil {
			r.spool.end(r)
		}
		if r.backward {
			r.freeze()
			if r.carried > 0 {
				r.addFinal(0, r.carried)
			}
		} else {
			s.appendLoss(r)
		}
	}
	for _, b := range s.buffers {
		b.final = b.untold()
	}
	return nil
}

// appendLoss compares the sum of all LOST records, read or still in the ring,
// with the counters of the events, and appends a record for the difference.
func (s *Source) appendLoss(r *ring) {
	var total, id uint64
	for i := range s.open.fds {
		f := &s.open.fds[i]
		if s.open.rings[f.ring] != r || !f.counts {
			continue
		}
		n, err := f.readLost()
		if err != nil {
			continue
		}
		if n > 0 {
			id = f.id
		}
		total += n
	}
	if said := r.lostSeen + r.lostWaiting() - r.carried; total > said {
		r.addFinal(id, total-said)
	}
}

// WorkloadStatus returns the exit status of the workload; false while it runs,
// or if there is none.
func (s *Source) WorkloadStatus() (*os.ProcessState, bool) {
	if s.tasks.workload == nil {
		return nil, false
	}
	return s.tasks.workload.Status()
}

// Close disables and closes all events. Views of ring memory become invalid.
func (s *Source) Close() error {
	var errs []error
	s.pump.end()
	s.bells.Close()
	if s.poll != nil {
		errs = append(errs, s.poll.Close())
		s.poll = nil
	}
	if s.open != nil {
		errs = append(errs, s.open.close())
	}
	for _, b := range s.buffers {
		errs = append(errs, b.unmap())
	}
	errs = append(errs, s.late.Close())
	if s.att != nil {
		s.att.close()
	}
	errs = append(errs, s.tasks.close())
	s.eof = true // the rings are empty, but keep their statistics
	return errors.Join(errs...)
}
