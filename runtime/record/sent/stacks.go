package sent

import "ppscript/runtime/event"

// This file finds the stacks of events that programs send. A record has the hash of the
// stack, which is the key in a map of the programs. An event that is a part of a derived
// event has this hash in Event.Rec.

// StackKey is the size of a hash; must match StackKey of bpf/load.
const StackKey = 16

// stackMembers are the members of events with stacks.
type stackMembers struct {
	*projectedMembers
	find func(hash []byte) []uint64
}

// Callchain implements event.Members.
func (m *stackMembers) Callchain(e *event.Event) []uint64 {
	if len(e.Rec) != StackKey {
		return nil
	}
	return m.find(e.Rec)
}
