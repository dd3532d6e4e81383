package plan

import "ppscript/runtime/event"

// HoldsStacks reports that states of folds in programs may have numbers of stacks,
// which are looked up later.
func (in *Instance) HoldsStacks() bool {
	for _, n := range Of[*foldOp](in.Plan) {
		if n.hasStacks() && in.programsDo(n) {
			return true
		}
	}
	return false
}

// A HeldMembers tells the stack of an event that programs send beside what a fold emits.
type HeldMembers struct {
	event.Members
	Instance *Instance
}

// Member implements event.Members.
func (m *HeldMembers) Member(e *event.Event, f event.Member) (uint64, bool) {
	if f != event.MemberCallchain || e.Derived == nil || len(e.Derived.Slots) == 0 {
		return m.Members.Member(e, f)
	}
	return m.Instance.Programs.Stack(e.Derived.Slots[0].Uint()), true
}
