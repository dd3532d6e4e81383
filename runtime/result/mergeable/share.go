package mergeable

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file puts frames together into one frame, which can be put together with others in turn: in a tree
// of any shape, the result equals all frames put together at once. Each frame says which machines it
// is of, so that a merge with others counts none of them twice.

// A Share says of a frame that one machine made: whose it is, and what it was about.
type Share struct {
	Host        string
	Seq         uint64
	Dropped     uint64 // frames before it that found no room
	Begin, End  int64
	More, Final bool
	// Frame is the frame as it came, where machines are kept apart.
	Frame []byte
}

// Share is what a frame of one machine says of itself.
func (f *Frame) Share() Share {
	return Share{Host: f.Host, Seq: f.Seq, Begin: f.Begin, End: f.End, More: f.More, Final: f.Final}
}

// Results are the results of the window as a frame has them, ordered by what they are: the order in which
// frames came says nothing. They share memory with the window, to which nothing may be added afterwards.
func (w *Window) Results() []Result {
	var list []Result
	for _, m := range w.results {
		r := m.Result
		if m.union != nil {
			r.Loss.Add(m.union.Loss())
			for row := range m.union.Parts {
				own := Row{Row: *row, Names: m.rowNames(row.Key)}
				own.Key = m.plainKeys(row.Key)
				r.Rows = append(r.Rows, own)
			}
			if len(r.Rows) > 0 {
				r.Rows[0].Called = m.called()
			}
		}
		if m.stacks != nil {
			s := *m.stacks
			s.Merge()
			slices.SortStableFunc(s.Samples, func(a, b result.StackSample) int {
				return slices.CompareFunc(a.Key, b.Key, event.Value.Compare)
			})
			r.Stacks = &s
		}
		list = append(list, r)
	}
	for i := range w.lines {
		r := w.lines[i].Result
		r.Host = w.lines[i].host
		list = append(list, r)
	}
	return list
}

// rowNames are the names of a row's keys, up to the last one that has any.
func (m *mergedResult) rowNames(key []event.Value) (list []string) {
	for i, v := range key {
		if name := m.names[i][v.String()]; name != "" {
			for len(list) < i {
				list = append(list, "")
			}
			list = append(list, name)
		}
	}
	return list
}
