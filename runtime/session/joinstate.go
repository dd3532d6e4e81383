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

// This file reads what joins of programs have not handed out: the events that wait for a partner,
// and the tree of calls; and the stacks that folds of programs hold. Joins of the plan's instance
// ask when an interval ends.

// joinPrograms are the programs that do the work of joins.
type joinPrograms struct {
	of      *run
	image   *bpf.Image
	run     *load.Run
	streams []*event.Stream // all streams of the plan, by index
	events  []*event.Stream // the events that programs take

	stacks map[uint64]uint64 // by the number that programs hold
	missed map[*join.Spec]*missedEvents
}

// failed notes an error of reading the programs' memory.
func (p *joinPrograms) failed(err error) { p.of.results.failed = cmp.Or(p.of.results.failed, err) }

// missedEvents are events of a join that programs did not see.
type missedEvents struct {
	streams []int // of the events, by index in joinPrograms.events
	n       uint64
	looked  event.Time // when that was seen
	gaps    []join.Gap
}

// mostGaps bounds the times that are told apart.
const mostGaps = 256

// Missed are the times in which programs missed events of a join, as far as is known: the
// kernel tells their number, which was another one at their begin.
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

// mostHeldStacks bounds the stacks whose numbers are remembered.
const mostHeldStacks = 1 << 16

// Stack is the number of a stack that programs hold as another one; 0 is of one that found
// no room.
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

// StacksGone has stacks numbered anew.
func (p *joinPrograms) StacksGone() { p.stacks = nil }

// Calls are the calls of a join that nests, as far as programs have seen them.
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

// Waiting hands out what waits in a join, the oldest first, or what was given up since the
// last call, since too much waited: why is Evicted then. Of what began before programs
// missed an event nobody knows whether it still waits: it is broken, as natively.
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
