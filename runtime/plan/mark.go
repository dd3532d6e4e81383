package plan

import "ppscript/runtime/expr"

// Mark sets the role of a stream's events in a join behind it.
type Mark struct {
	In Stream
	// Key relates the events, in place of the join's own key.
	Key *Fn
	// Role is a number: bit 0 lets the event be a start, bit 1 an end.
	Role *Fn
	// Untraced events are only shown among what happened during a pair.
	Untraced bool
	// Trigger ends the interval at each event of the stream.
	Trigger bool
}

// Inputs implements Stream.
func (m *Mark) Inputs() []Stream { return []Stream{m.In} }

// marks has the settings of all Marks on the way of a branch.
type marks struct {
	key      *expr.Program
	keyText  string
	role     *expr.Program
	untraced bool
}

func (m *Mark) branches(b *builder) ([]branch, error) {
	brs, err := b.branchesOf(m.In)
	if err != nil {
		return nil, err
	}
	for _, f := range []*Fn{m.Key, m.Role} {
		if f == nil {
			continue
		}
		if err := f.check(brs); err != nil {
			return nil, err
		}
	}
	for i := range brs {
		br := &brs[i]
		br.marks.untraced = br.marks.untraced || m.Untraced
		if m.Key != nil {
			if br.marks.key, err = b.compile(*m.Key, br, expr.Any); err != nil {
				return nil, err
			}
			br.marks.keyText = m.Key.label()
		}
		if m.Role != nil {
			if br.marks.role, err = b.compile(*m.Role, br, expr.Int); err != nil {
				return nil, err
			}
		}
		if m.Trigger {
			addTrigger(b, br)
		}
	}
	return brs, nil
}

// addTrigger makes each event of a branch end the interval.
func addTrigger(b *builder, br *branch) {
	if br.root != nil {
		return // the end of a pair is already an event: it splits no interval
	}
	for _, t := range Of[*TriggerOp](b.plan) {
		if t.stream == br.stream {
			return
		}
	}
	op := &TriggerOp{stream: br.stream}
	b.plan.add(op)
	b.feed(feed{op: op, name: "trigger"}, []branch{*br})
}

// attrMarks applies the join attributes of an event string. Settings in the
// script go first.
func (br *branch) attrMarks(b *builder) error {
	s := br.as
	if e := b.events[br.stream]; s == nil && e != nil {
		s = e.Source
	}
	if s == nil {
		return nil
	}
	var err error
	if keys := s.Attr("key"); len(keys) > 0 && br.marks.key == nil {
		if br.marks.key, err = b.compile(Fn{Text: keys[0], Pos: s.Pos}, br, expr.Any); err != nil {
			return err
		}
		br.marks.keyText = keys[0]
	}
	if roles := s.Attr("role"); len(roles) > 0 && br.marks.role == nil {
		if br.marks.role, err = b.compile(Fn{Text: roles[0], Pos: s.Pos}, br, expr.Int); err != nil {
			return err
		}
	}
	br.marks.untraced = br.marks.untraced || len(s.Attr("untraced")) > 0
	if len(s.Attr("trigger")) > 0 {
		addTrigger(b, br)
	}
	return nil
}
