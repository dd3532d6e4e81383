package render

import (
	"slices"
	"strings"

	"ppscript/runtime/result"
)

// This file makes two sets of folded stacks comparable even if different
// commands or tools wrote them.

// marks are the suffixes of names from stackcollapse-perf.pl --all: kernel
// code, inlined code, JIT-compiled code, and wakers.
var marks = []string{"_[k]", "_[i]", "_[j]", "_[w]"}

// alike returns before and after with comparable names: without marks, and
// without the names of programs if the two have no program in common. Else all
// functions of a renamed program would count as new.
func alike(before, after *result.Stacks) (b, a *result.Stacks) {
	known := map[string]bool{}
	outer := func(s *result.Stacks, fn func(name string)) {
		for i := range s.Samples {
			if path := pathOf(s, &s.Samples[i]); len(path) > 1 {
				fn(path[0])
			}
		}
	}
	outer(before, func(name string) { known[unmarked(name)] = true })
	common := false
	outer(after, func(name string) { common = common || known[unmarked(name)] })
	return plainNames(before, !common), plainNames(after, !common)
}

// plainNames returns s with only the names of functions. withoutFirst leaves out
// the outermost name, which is the program.
func plainNames(s *result.Stacks, withoutFirst bool) *result.Stacks {
	out := *s
	out.Keys, out.Samples = nil, slices.Clone(s.Samples)
	for i := range out.Samples {
		x := &out.Samples[i]
		path := pathOf(s, x)
		if withoutFirst && len(path) > 1 {
			path = path[1:]
		}
		x.Key, x.Frames = nil, make([]*result.Frame, len(path))
		for k, name := range path {
			x.Frames[len(path)-1-k] = &result.Frame{Symbol: unmarked(name)}
		}
	}
	return &out
}

func unmarked(name string) string {
	for _, m := range marks {
		name = strings.TrimSuffix(name, m)
	}
	return name
}
