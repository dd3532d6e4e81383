package session

import (
	"errors"
	"fmt"
	"os"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/perfdata"
	"ppscript/runtime/plan"
	"ppscript/runtime/spread"
)

// This file sends the events that the plan wants sent.

// An outlet is one address that events are sent to.
type outlet struct {
	run    *plan.PushRun
	sender *spread.Sender
	seen   uint64 // dropped, at the last look
}

// sendLag is how far behind now a silent sender says that nothing older will
// come: what happened has been read and ordered by then.
const sendLag = 50 * event.Time(time.Millisecond)

func (r *run) openPushes() error {
	for _, p := range r.plan.Pushes {
		var streams []perfdata.StreamInfo
		for i, e := range p.Of {
			s := spread.Describe(uint64(i+1), e.Stream.Schema, e.Stream.Label)
			s.System, s.Format = r.world.formatOf(e.Stream.Schema)
			streams = append(streams, s)
		}
		about := perfdata.WriteOptions{Version: "ppscript", Cmdline: os.Args, Clock: perfdata.Clock{At: r.clock.at, Wall: r.clock.wall}}
		if r.world.fs != nil {
			about.Tracefs = r.world.fs.Root()
		}
		if r.world.file != nil {
			about.Info = r.world.file.Info()
		}
		sender, err := spread.NewSender(p.To, streams, about, spread.Options{Bytes: r.cfg.Options.OrderBytes, Token: r.cfg.Options.Token, Say: r.said()})
		if err != nil {
			return err
		}
		r.outlets = append(r.outlets, &outlet{run: p, sender: sender})
		p.Lose = sender.Lost
		p.Send = func(id uint64, e *event.Event) {
			sender.Send(id, e, member(e, event.FactPeriod), e.Stream.Comm(e))
		}
	}
	return nil
}

// said tells what happens in other goroutines: it is shown by ours.
func (r *run) said() func(format string, args ...any) {
	return func(format string, args ...any) {
		select {
		case r.heard <- fmt.Sprintf(format, args...):
		default: // nobody can read that fast
		}
	}
}

// sayHeard shows it.
func (r *run) sayHeard() {
	for {
		select {
		case line := <-r.heard:
			r.world.say("%s", line)
		default:
			return
		}
	}
}

// sendRound ends a batch of what is sent.
func (r *run) sendRound(final bool) error {
	var errs []error
	for _, o := range r.outlets {
		now := r.plan.Router.Last
		if !final && r.live != nil && r.clock.now() > sendLag {
			now = r.clock.now() - sendLag
		}
		errs = append(errs, o.sender.Round(now))
		if n := o.sender.Dropped(); n > o.seen {
			r.world.say("push %s: %d events were dropped for a slow receiver (%d together); give it more memory: --order-mem", o.run.To, n-o.seen, n)
			o.seen = n
		}
	}
	r.sayHeard()
	return errors.Join(errs...)
}

func (r *run) closePushes() error {
	var errs []error
	for _, o := range r.outlets {
		errs = append(errs, o.sender.Close())
	}
	r.sayHeard()
	return errors.Join(errs...)
}

// formatOf is the text of a recorded event's format; empty for live ones, of
// which the kernel has it.
func (w *world) formatOf(s *event.Schema) (system, text string) {
	if w.file == nil {
		return s.System, ""
	}
	for _, info := range w.file.StreamInfos() {
		if info.Schema != nil && info.Schema.FullName() == s.FullName() {
			return info.System, info.Format
		}
	}
	return s.System, ""
}
