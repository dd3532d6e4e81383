package why

import (
	"cmp"
	"slices"
	"sort"

	"ppscript/runtime/event"
)

// gaps are the known losses, sorted by begin.
type gaps struct {
	list    []Gap
	to      event.Time // the latest end
	longest event.Time
}

func sortedGaps(gaps []Gap) []Gap {
	return slices.SortedFunc(slices.Values(gaps), func(a, b Gap) int { return cmp.Compare(a.From, b.From) })
}

// add adds a loss.
func (s *gaps) add(g Gap) {
	if g.Reason == "" {
		g.Reason = "events were lost"
	}
	s.list = append(s.list, g)
	for i := len(s.list) - 1; i > 0 && s.list[i-1].From > g.From; i-- {
		s.list[i], s.list[i-1] = s.list[i-1], s.list[i]
	}
	s.to = max(s.to, g.To)
	s.longest = max(s.longest, g.To-g.From)
}

// between returns the losses that may overlap a time; some may end before it.
//
// Fast path: usually there are none.
func (s *gaps) between(from, to event.Time) []Gap {
	if len(s.list) == 0 || from >= s.to {
		return nil
	}
	j := sort.Search(len(s.list), func(i int) bool { return s.list[i].From >= to })
	i := sort.Search(j, func(i int) bool { return s.list[i].From+s.longest > from })
	return s.list[i:j]
}

// anyCPU selects the losses of all CPUs.
const anyCPU = -1

// hiding returns the time in [from, to] that losses of a CPU (or of all CPUs if cpu is
// anyCPU) hide: from the begin of the first loss to the end of the last one.
//
// An unobserved switch counts only if touched says so.
func (x *index) hiding(t *thread, first int, cpu int32, from, to event.Time) (
	begin, end event.Time, reason string, ok bool,
) {
	list := x.gaps.between(from, to)
	for i := range list {
		g := &list[i]
		if g.To <= from || g.From >= to || cpu != anyCPU && g.CPU >= 0 && g.CPU != cpu ||
			!x.touched(g, t, first) {
			continue
		}
		if !ok {
			begin, reason, ok = max(g.From, from), g.Reason, true
		}
		end = max(end, min(g.To, to))
	}
	return begin, end, reason, ok
}

// forget drops losses that ended before a time.
func (s *gaps) forget(before event.Time) {
	s.list = slices.DeleteFunc(s.list, func(g Gap) bool { return g.To < before })
}

// hidden reports whether a loss may hide activity of a thread between an entry of it and
// its record r.
func (x *index) hidden(t *thread, last int, r *record) bool {
	from := t.list[last].at
	for _, g := range x.gaps.between(from, r.at) {
		if g.To <= from || g.From >= r.at {
			continue
		}
		p := &x.recs[t.list[last].rec]
		left := p.kind == kSwitch && p.tid == t.tid
		comes := r.kind == kSwitch && r.other == t.tid
		if x.touched(&g, t, last) && (left || comes || p.cpu != r.cpu || g.CPU < 0 || g.CPU == r.cpu) {
			return true
		}
	}
	return false
}
