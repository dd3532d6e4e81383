package session

import (
	"context"

	"ppscript/runtime/event"
	"ppscript/runtime/source/eventkind"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/source/relay"
)

// openRecording makes the recording deliver the plan's events. If order does
// not matter, it is read in file order, which is faster.
func (r *run) openRecording() error {
	w := r.env
	if r.playback = newPlayback(r); r.playback != nil {
		r.plan.Order = true
	}
	if !r.plan.Order && !w.rec.file.Info().Pipe && len(w.rec.remotes) == 0 {
		// The plan has the schemas from the first opening. The streams of both
		// openings are matched by position, which is the same.
		again, err := relay.Open(w.rec.opening, w.cfg.Options.Recording.Path, perfdata.Options{})
		if err != nil {
			return err
		}
		first := w.rec.file
		w.rec.file = again
		if err := first.Close(); err != nil {
			return err
		}
	}
	w.rec.sayWarnings()
	c := w.rec.file.Info().Clock
	r.clock.At, r.clock.Wall = c.At, c.Wall
	r.in.src = w.rec.file
	streams := w.rec.file.Streams()
	to := make([][]*event.Stream, len(streams))
	for _, e := range r.plan.Events {
		for i, st := range streams {
			same := len(w.rec.remotes) == 0 && st.Schema.FullName() == e.Stream.Schema.FullName()
			if st.Schema == e.Stream.Schema || same && eventkind.Recorded(e.Source, st.Schema) {
				own := r.instance.Stream(e.Stream)
				to[i] = append(to[i], own)
				own.Members = st.Members
				if r.plan.Cgroups {
					sayUntold(w.msgs, st)
				}
			}
		}
	}
	r.instance.Router.Remap = to
	if err := r.clock.Find(context.Background(), &r.cfg.Options.Clock, w.guestClock(), nil); err != nil {
		return err
	}
	if r.clock.Conv != nil {
		r.clock.At = r.clock.Conv(r.clock.At)
	}
	if len(w.rec.remotes) > 0 {
		r.combine(r.clock.Convert(lagging{w.rec.file}), to)
	} else {
		r.in.src = r.clock.Convert(r.in.src)
	}
	return nil
}
