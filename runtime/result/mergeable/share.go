package mergeable

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file merges frames into one frame, which can be merged with others in turn. In a tree of
// merges of any shape, the result is the same as if all frames were merged at once. Each frame
// lists the machines whose results it contains, so that no machine is counted twice.

// A Share describes a frame that one machine made and that was merged into another
// frame: its machine and its window.
type Share struct {
	Host        string
	Seq         uint64
	Dropped     uint64 // frames before it that were dropped for lack of space
	Begin, End  int64
	More, Final bool
	// Frame has the bytes of the received frame, if machines are kept separate.
	Frame []byte
}

// Share returns the Share of a frame of one machine.
func (f *Frame) Share() Share {
	return Share{Host: f.Host, Seq: f.Seq, Begin: f.Begin, End: f.End, More: f.More, Final: f.Final}
}

// Results returns the merged results in the form of a frame. Rows and stacks are sorted, so that
// the order of the frames does not matter. They share memory with the window, so nothing may be
// added to it afterwards.
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

// rowNames returns the names of a row's keys, up to the last key that has a
// name.
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
