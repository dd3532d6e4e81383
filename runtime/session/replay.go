package session

import (
	"context"

	"ppscript/runtime/event"
	"ppscript/runtime/perfdata"
	"ppscript/runtime/relay"
)

// openRecording has the recording deliver the plan's events. It is read in
// file order, which is faster, where order does not matter.
func (r *run) openRecording() error {
	w := r.env
	r.openPlayback()
	if !r.plan.Order && !w.file.Info().Pipe && len(w.remotes) == 0 {
		// The schemas of the plan are those of the first opening; streams are
		// related by position, which is the same.
		again, err := relay.Open(w.opening, w.cfg.Options.Recording.Path, perfdata.Options{})
		if err != nil {
			return err
		}
		first := w.file
		w.file = again
		if err := first.Close(); err != nil {
			return err
		}
	}
	w.sayWarnings()
	c := w.file.Info().Clock
	r.clock.at, r.clock.wall = c.At, c.Wall
	r.src = w.file
	streams := w.file.Streams()
	to := make([][]*event.Stream, len(streams))
	for _, e := range r.plan.Events {
		for i, st := range streams {
			if st.Schema == e.Stream.Schema || len(w.remotes) == 0 && st.Schema.FullName() == e.Stream.Schema.FullName() && matches(e.Source, st.Schema) {
				own := r.instance.Stream(e.Stream)
				to[i] = append(to[i], own)
				own.Members = st.Members
			}
		}
	}
	r.instance.Router.Remap = to
	if err := r.findClock(context.Background()); err != nil {
		return err
	}
	if r.clock.conv != nil {
		r.clock.at = r.clock.conv(r.clock.at)
	}
	if len(w.remotes) > 0 {
		r.combine(r.convert(lagging{w.file}), to)
	} else {
		r.src = r.convert(r.src)
	}
	return nil
}

// sayWarnings says what is odd about the recordings, each thing once.
func (w *env) sayWarnings() {
	if w.file != nil {
		for _, line := range w.file.Warnings() {
			w.sayOnce(w.cfg.Options.Recording.Path + ": " + line)
		}
	}
	for _, m := range w.remotes {
		for _, line := range m.file.Warnings() {
			w.sayOnce(m.name + ": " + line)
		}
	}
}

// recordedInFull reports that all there will be of the events is there: no time
// of ours passes while they are read.
func (r *run) recordedInFull() bool { return r.env.file != nil && !r.env.file.Live() }
