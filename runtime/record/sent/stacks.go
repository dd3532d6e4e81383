package sent

import "ppscript/runtime/event"

// This file is about the stacks of events that programs send: a record has a hash, by which
// the stack is found in a map of theirs. An event that is made of it has the hash in place
// of its record.

// StackKey is the size of a hash; must match StackKey of bpf/load.
const StackKey = 16

// stackMembers are projectedMembers of events with stacks.
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
