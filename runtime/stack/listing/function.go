package listing

import (
	"slices"
	"strings"

	"ppscript/runtime/result"
	"ppscript/runtime/stack/naming"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/glob"
)

// A weight is the number of samples, and the sum of their values.
type weight struct {
	Count uint64
	Value int64
}

func (w *weight) add(x *result.StackSample) {
	w.Count += x.Count
	w.Value += x.Value
}

// A function is a function in which samples were taken.
type function struct {
	weight
	frame *result.Frame // frame of one of its samples
	// at has its samples by address, see naming.Position.
	at map[uint64]*weight
	// inlined are the functions with samples that were inlined into it.
	inlined map[string]bool
}

// label is the function's name with its file, for messages.
func (f *function) label() string {
	if f.frame.DSO == "" {
		return f.frame.Name()
	}
	return f.frame.Name() + " (" + f.frame.DSO + ")"
}

// functions lists the functions with samples, the heaviest first.
func functions(s *result.Stacks) []*function {
	type key struct {
		symbol, dso, id string
		start           uint64
	}
	by := map[key]*function{}
	var list []*function
	for i := range s.Samples {
		x := &s.Samples[i]
		n := physical(x.Frames)
		if n < 0 {
			continue
		}
		frame := x.Frames[n]
		at := naming.Position(frame)
		k := key{frame.Symbol, frame.DSO, frame.BuildID, at - frame.Offset}
		if frame.Symbol == "" {
			k.start = 0 // in a file without names, the begins of functions are unknown
		}
		f := by[k]
		if f == nil {
			f = &function{frame: frame, at: map[uint64]*weight{}, inlined: map[string]bool{}}
			by[k] = f
			list = append(list, f)
		}
		f.add(x)
		w := f.at[at]
		if w == nil {
			w = &weight{}
			f.at[at] = w
		}
		w.add(x)
		for _, in := range x.Frames[:n] {
			f.inlined[in.Symbol] = true
		}
	}
	slices.SortStableFunc(list, func(a, b *function) int {
		if s.Value != "" && a.Value != b.Value {
			return compare(b.Value, a.Value)
		}
		return compare(int64(b.Count), int64(a.Count))
	})
	return list
}

// physical is the index of the innermost function that is not inlined; -1 if there is none.
func physical(frames []*result.Frame) int {
	return slices.IndexFunc(frames, func(f *result.Frame) bool { return !f.Inline })
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// choose returns the heaviest function that matches a pattern; "" matches all. others is the number
// of other matching functions.
func choose(list []*function, pattern string) (f *function, others int, err error) {
	if pattern == "" {
		i := slices.IndexFunc(list, func(f *function) bool { return f.frame.Symbol != "" })
		if i < 0 {
			return nil, 0, diag.Errorf(diag.Run, "annotate", "",
				"no sample was taken in a function that has a name").WithHint(longer)
		}
		return list[i], 0, nil
	}
	for _, x := range list {
		if !glob.Match(pattern, x.frame.Symbol) {
			continue
		}
		if f != nil {
			others++
			continue
		}
		f = x
	}
	if f != nil {
		return f, others, nil
	}
	e := diag.Errorf(diag.Run, "annotate", pattern, "no sample was taken in it")
	for _, x := range list {
		if x.inlined[pattern] {
			return nil, 0, e.WithHint("the compiler put it into %s: annotate that one", x.frame.Name())
		}
	}
	var names []string
	for _, x := range list[:min(5, len(list))] {
		names = append(names, x.frame.Name())
	}
	if len(names) == 0 {
		return nil, 0, e.WithHint(longer)
	}
	return nil, 0, e.WithHint("most samples were taken in: %s", strings.Join(names, ", "))
}

const longer = "look for longer, more often, or at what runs: --duration, -F, -p"
