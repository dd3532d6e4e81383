package session

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/join"
	"ppscript/runtime/sent"
)

// waits hands out what waits in programs for a partner. Of what began before programs
// missed an event nobody knows whether it still waits: it is broken, as natively.
type waits struct {
	run    *run
	missed uint64     // events that programs had missed at the last look
	until  event.Time // when it was seen that these became more
}

// calls are those of a join that nests, as far as programs have seen them.
func (w *waits) calls(of *join.Spec) []join.Call {
	r := w.run
	programs := r.env.sender
	if r.in.kernel != nil {
		programs = r.in.kernel.run
	}
	calls := make([]join.Call, 1)
	if index, ok := r.plan.Kernel.Image.Calls(of); ok {
		seen, err := load.Calls(programs, index)
		if err == nil {
			return seen
		}
		r.results.failed = cmp.Or(r.results.failed, err)
	}
	return calls
}

// hand hands out what waits in a join, the oldest first.
func (w *waits) hand(of *join.Spec, why join.Reason, at event.Time, fn func(*event.Event)) {
	r := w.run
	lefts, streams := r.plan.Kernel.Image.Lefts()
	shows, index := map[uint64]*sent.Lefts{}, -1
	for i := range lefts {
		if l := &lefts[i]; l.Join == any(of) {
			shows[uint64(l.Event)], index = sent.NewLefts(l, r.instance.Streams()[streams[i]],
				r.instance.Stream(r.plan.Events[l.Event].Stream)), l.Index
		}
	}
	if index < 0 {
		return
	}
	var all [][]byte
	err := load.Waiting(r.env.sender, index, func(waits []byte) { all = append(all, bytes.Clone(waits)) })
	if err != nil && r.results.failed == nil {
		r.results.failed = err
	}
	if n := load.Misses(r.env.sender); n > w.missed {
		w.missed, w.until = n, r.present()
	}
	began := func(waits []byte) uint64 { return binary.LittleEndian.Uint64(waits) }
	slices.SortFunc(all, func(a, b []byte) int { return cmp.Compare(began(a), began(b)) })
	for _, waits := range all {
		e := event.Event{Time: max(at, event.Time(began(waits))), Ring: -1}
		age := uint64(e.Time) - began(waits)
		s := shows[binary.LittleEndian.Uint64(waits[8:])-1]
		reason := why
		if event.Time(began(waits)) <= w.until {
			reason = join.Broken
		}
		if s != nil && s.Waiting(&e, waits, uint64(reason), age) {
			fn(&e)
			s.Release()
		}
	}
}
