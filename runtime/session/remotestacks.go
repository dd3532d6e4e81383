package session

import (
	"fmt"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/relay"
)

// This file finds the sources whose events come with the names of their stacks.

// carrier is the source that tells of the stacks of a stream's events, nil if
// they are in its samples.
func (w *env) carrier(e *event.Stream) *relay.Source {
	for _, src := range w.others() {
		infos := src.StreamInfos()
		for i, st := range src.Streams() {
			if st.Schema == e.Schema && src.Stacks.Carries(infos[i].IDs) {
				return src
			}
		}
	}
	return nil
}

// sayStackless tells why a pulled event has no stacks.
func (w *env) sayStackless(e *plan.Event) {
	at := slices.IndexFunc(w.remotes, func(r *remote) bool { return r.gives(e) })
	if at < 0 {
		return
	}
	r := w.remotes[at]
	if v := r.file.Stacks.Newer(); v != 0 {
		w.sayOnce(fmt.Sprintf(
			"pull %s: the call stacks come in form %d, which this ppscript does not know: use one as new as the sender's",
			r.name, v))
		return
	}
	w.sayOnce(
		fmt.Sprintf(
			"pull %s: %s comes without call stacks: have them sent: ppscript trace -g -e '%s//push=.../'",
			r.name, e.Stream.Label, e.Stream.Schema.FullName()))
}

// others are all sources but the kernel.
func (w *env) others() (all []*relay.Source) {
	if w.file != nil {
		all = append(all, w.file)
	}
	for _, m := range w.remotes {
		all = append(all, m.file)
	}
	return all
}
