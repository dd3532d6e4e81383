package render

import (
	"slices"
	"strings"

	"ppscript/runtime/result"
)

// This file makes two sets of folded stacks comparable that were not written by
// the same command, or the same tool.

// marks are the suffixes of names by stackcollapse-perf.pl --all, which tell
// code of the kernel, inlined, compiled at run time and woken up apart.
var marks = []string{"_[k]", "_[i]", "_[j]", "_[w]"}

// alike is before and after, with names that can be compared: without marks, and
// without the names of programs if they have none in common. Else a program that
// was renamed, or another build of it, would have grown in all of its functions.
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

// plainNames is s with names alone, outermost first without the first if that is
// to be left out.
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
