package result

import (
	"cmp"
	"maps"
	"slices"

	"ppscript/runtime/stack"
)

// This file merges explanations of several intervals or machines. Sums are exact, and the order
// of merging does not matter.

// Merge adds another result, and keeps at most slowest of the slowest spans; 0 keeps all. o is
// not changed.
func (w *Why) Merge(o *Why, slowest int) {
	w.Meta.merge(&o.Meta)
	w.Slow.add(o.Slow)
	w.Normal.add(o.Normal)
	w.Doubtful.add(o.Doubtful)
	w.Skipped += o.Skipped
	w.causes(o)
	for _, n := range o.Notes {
		if !slices.Contains(w.Notes, n) {
			w.Notes = append(w.Notes, n)
		}
	}
	slices.Sort(w.Notes)
	numbers := w.stacks(o)
	w.Slowest = slices.Clone(w.Slowest)
	for _, s := range o.Slowest {
		w.Slowest = append(w.Slowest, s.renumbered(numbers))
	}
	slices.SortStableFunc(w.Slowest, slowerFirst)
	if slowest > 0 && len(w.Slowest) > slowest {
		w.Slowest = w.Slowest[:slowest:slowest]
	}
	used := map[stack.ID]bool{}
	w.StackIDs(func(id stack.ID) bool { used[id] = true; return true })
	maps.DeleteFunc(w.Stacks, func(id stack.ID, _ CallStack) bool { return !used[id] })
}

func (s *WhySpans) add(o WhySpans) {
	s.Spans += o.Spans
	s.NS += o.NS
}

// merge extends the interval of m so that it includes the interval of o.
func (m *Meta) merge(o *Meta) {
	if m.Begin == 0 || o.Begin != 0 && o.Begin < m.Begin {
		m.Begin = o.Begin
	}
	m.End = max(m.End, o.End)
	if o.Wall.After(m.Wall) {
		m.Wall = o.Wall
	}
	m.Samples += o.Samples
	m.TotalSamples = max(m.TotalSamples, o.TotalSamples)
	m.Loss.Add(o.Loss)
}

// causes adds the causes of o, and sorts all by their paths.
func (w *Why) causes(o *Why) {
	w.Causes = slices.Clone(w.Causes)
	slices.SortFunc(w.Causes, comparePaths)
	for _, c := range o.Causes {
		at, found := slices.BinarySearchFunc(w.Causes, c, comparePaths)
		if !found {
			w.Causes = slices.Insert(w.Causes, at, c)
			continue
		}
		w.Causes[at].Slow.add(c.Slow)
		w.Causes[at].Normal.add(c.Normal)
	}
}

func comparePaths(a, b WhyCause) int { return slices.CompareFunc(a.Path, b.Path, compareLinks) }

func compareLinks(a, b WhyLink) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What), compareTasks(a.Task, b.Task),
		compareTasks(a.Whom, b.Whom), compareBools(a.Foreign, b.Foreign), compareBools(a.Kernel, b.Kernel),
		cmp.Compare(a.Cgroup, b.Cgroup), cmp.Compare(a.File, b.File), cmp.Compare(a.Stack, b.Stack),
		cmp.Compare(a.WakerStack, b.WakerStack))
}

func compareTasks(a, b WhyTask) int {
	return cmp.Or(cmp.Compare(a.Comm, b.Comm), cmp.Compare(a.TID, b.TID), cmp.Compare(a.PID, b.PID))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// slowerFirst orders spans by length, the longest first; the order of equal
// ones does not depend on the order of merging.
func slowerFirst(a, b *WhySpan) int {
	return cmp.Or(cmp.Compare(b.NS(), a.NS()), cmp.Compare(a.From, b.From), compareTasks(a.Task, b.Task),
		cmp.Compare(a.Label, b.Label), cmp.Compare(a.Key, b.Key))
}

// stacks adds the stacks of o. If w uses a number for another stack, the stack of o gets a new
// number. stacks returns the changed numbers.
func (w *Why) stacks(o *Why) map[stack.ID]stack.ID {
	own := maps.Clone(w.Stacks)
	if own == nil {
		own = map[stack.ID]CallStack{}
	}
	last := stack.None
	for _, m := range []map[stack.ID]CallStack{w.Stacks, o.Stacks} {
		for id := range m {
			last = max(last, id)
		}
	}
	numbers := map[stack.ID]stack.ID{}
	for _, id := range slices.Sorted(maps.Keys(o.Stacks)) {
		s := o.Stacks[id]
		to := id
		if known, ok := own[id]; ok && !known.Same(s) {
			last++
			to = last
			numbers[id] = to
		}
		own[to] = s
	}
	w.Stacks = own
	return numbers
}

// renumbered returns the span with other numbers of stacks.
func (s *WhySpan) renumbered(numbers map[stack.ID]stack.ID) *WhySpan {
	if len(numbers) == 0 {
		return s
	}
	own := *s
	own.Parts = slices.Clone(s.Parts)
	for i := range own.Parts {
		p := &own.Parts[i]
		p.Path = slices.Clone(p.Path)
		for j := range p.Path {
			for _, id := range []*stack.ID{&p.Path[j].Stack, &p.Path[j].WakerStack} {
				if to, ok := numbers[*id]; ok {
					*id = to
				}
			}
		}
	}
	return &own
}

// StackIDs yields the stacks of the slowest spans' parts, some of them several times.
func (w *Why) StackIDs(yield func(stack.ID) bool) {
	for _, s := range w.Slowest {
		for i := range s.Parts {
			for j := range s.Parts[i].Path {
				l := &s.Parts[i].Path[j]
				for _, id := range [...]stack.ID{l.Stack, l.WakerStack} {
					if id != stack.None && !yield(id) {
						return
					}
				}
			}
		}
	}
}
