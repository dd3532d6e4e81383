package session

import (
	"fmt"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/relay"
)

// This file finds the sources whose events come with the names of their stacks.

// carrier returns the source that sends the stacks of a stream's events with
// names; nil if the stacks are in the samples.
func (r *recordings) carrier(e *event.Stream) *relay.Source {
	for _, src := range r.all() {
		infos := src.StreamInfos()
		for i, st := range src.Streams() {
			if st.Schema == e.Schema && src.Stacks.Carries(infos[i].IDs) {
				return src
			}
		}
	}
	return nil
}

// sayStackless tells the user why an event that another ppscript sends (attribute pull=) has no
// stacks.
func (r *recordings) sayStackless(e *plan.Event) {
	at := slices.IndexFunc(r.remotes, func(m *remote) bool { return m.gives(e) })
	if at < 0 {
		return
	}
	m := r.remotes[at]
	if v := m.file.Stacks.Newer(); v != 0 {
		r.msgs.sayOnce(fmt.Sprintf(
			"pull %s: the call stacks come in form %d, which this ppscript does not know: use one as new as the sender's",
			m.name, v))
		return
	}
	r.msgs.sayOnce(
		fmt.Sprintf(
			"pull %s: %s comes without call stacks: have them sent: ppscript trace -g -e '%s//push=.../'",
			m.name, e.Stream.Label, e.Stream.Schema.FullName()))
}
