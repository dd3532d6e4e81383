package session

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"ppscript/bpf"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/record/sent"
)

// This file reads the state of joins and folds in programs in the kernel that the programs have
// not sent: the events that wait for a partner, the tree of calls, and the stacks that folds
// hold. The joins of the plan's instance read it at the end of an interval.

// joinPrograms has the programs that relate the events of joins. It implements
// plan.Programs.
type joinPrograms struct {
	of      *run
	image   *bpf.Image
	run     *load.Run
	streams []*event.Stream // all streams of the plan, by index
	events  []*event.Stream // the events that programs process

	stacks map[uint64]uint64 // numbers in this process by the numbers in the programs
	missed map[*join.Spec]*missedEvents
}

// failed records an error of a read of the programs' memory, which ends the
// run.
func (p *joinPrograms) failed(err error) { p.of.results.failed = cmp.Or(p.of.results.failed, err) }

// missedEvents records when programs missed events of a join.
type missedEvents struct {
	streams []int // indices in joinPrograms.events of the join's events
	n       uint64
	looked  event.Time // time of the last look at the number
	gaps    []join.Gap
}

// mostGaps bounds the gaps of a join; the oldest are merged.
const mostGaps = 256

// Missed returns the times in which programs may have missed events of a join. The kernel
// only counts missed events, so a gap is the time between two calls between which the
// count changed.
func (p *joinPrograms) Missed(of *join.Spec) []join.Gap {
	m := p.missed[of]
	if m == nil {
		m = &missedEvents{}
		m.streams = p.image.Origins(of)
		if p.missed == nil {
			p.missed = map[*join.Spec]*missedEvents{}
		}
		p.missed[of] = m
	}
	begin := p.of.present()
	if n := load.Misses(p.run, m.streams); n > m.n {
		m.n = n
		m.gap(join.Gap{From: m.looked, To: p.of.present()})
	}
	m.looked = begin
	return m.gaps
}

// gap adds a time in which events were missed.
func (m *missedEvents) gap(g join.Gap) {
	last := len(m.gaps) - 1
	switch {
	case last >= 0 && m.gaps[last].To >= g.From:
		m.gaps[last].To = g.To
		return
	case len(m.gaps) == mostGaps:
		m.gaps[1].From = m.gaps[0].From
		m.gaps = slices.Delete(m.gaps, 0, 1)
	}
	m.gaps = append(m.gaps, g)
}

// mostHeldStacks bounds the converted numbers that are kept.
const mostHeldStacks = 1 << 16

// Stack converts the number of a stack in the programs to its number in this process; 0 if
// the stack found no room there.
func (p *joinPrograms) Stack(held uint64) uint64 {
	if number, known := p.stacks[held]; known || held == 0 {
		return number
	}
	s, err := load.HeldStack(p.run, held)
	if err != nil {
		p.failed(err)
	}
	if s == nil {
		return 0
	}
	if p.stacks == nil || len(p.stacks) >= mostHeldStacks {
		p.stacks = map[uint64]uint64{}
	}
	p.stacks[held] = p.of.stacks.number(s)
	return p.stacks[held]
}

// StacksGone drops the converted numbers, after this process has freed its
// stacks.
func (p *joinPrograms) StacksGone() { p.stacks = nil }

// Calls returns the tree of calls of a nested join that programs have seen so
// far.
func (p *joinPrograms) Calls(of *join.Spec) []join.Call {
	calls := make([]join.Call, 1)
	if index, ok := p.image.Calls(of); ok {
		seen, err := load.Calls(p.run, index)
		if err == nil {
			return seen
		}
		p.failed(err)
	}
	return calls
}

// Waiting calls fn for each event that waits in a join, the oldest first; with reason
// Evicted, for each event that was given up since the last call because too many waited.
// If an event came before programs missed events, its partner may be among these: its
// reason is then Broken, as in joins in ppscript.
func (p *joinPrograms) Waiting(of *join.Spec, why join.Reason, at event.Time, fn func(*event.Event)) {
	records, streams, index := p.image.Unpaired(of)
	if len(records) == 0 {
		return
	}
	sent.FindLong(records, func(hash []byte) []byte { return load.LongText(p.run, hash) })
	shows := map[uint64]*sent.Rows{}
	for i := range records {
		r := &records[i]
		if st := r.Start.Stream; st != nil {
			r.Start.Stream = p.streams[st.Index-len(p.events)]
		}
		shows[uint64(r.Start.Input)] = sent.NewRows(r, p.streams[streams[i]], p.events)
	}
	var all [][]byte
	read := load.Waiting
	if why == join.Evicted {
		read = load.GivenUp
	}
	err := read(p.run, index, func(waits []byte) { all = append(all, bytes.Clone(waits)) })
	if err != nil {
		p.failed(err)
	}
	var until event.Time
	if gaps := p.Missed(of); len(gaps) > 0 {
		until = gaps[len(gaps)-1].To
	}
	began := func(waits []byte) uint64 { return binary.LittleEndian.Uint64(waits) }
	slices.SortFunc(all, func(a, b []byte) int { return cmp.Compare(began(a), began(b)) })
	for _, waits := range all {
		e := event.Event{Time: max(at, event.Time(began(waits))), Ring: -1}
		age := uint64(e.Time) - began(waits)
		s := shows[binary.LittleEndian.Uint64(waits[8:])-1]
		reason := why
		if event.Time(began(waits)) <= until {
			reason = join.Broken
		}
		if s != nil && s.Show(&e, sent.Unpaired(uint64(reason), age, waits)) {
			fn(&e)
			s.Release()
		}
	}
}
