package why

import (
	"slices"

	"ppscript/runtime/result"
)

// This file bounds the parts of long spans. A second of a thread that waits for others may
// have a hundred thousand parts. Nobody reads them one by one, but their sums matter.

// group is the number of successive parts that compact merges in one group. If that
// removes too few parts, the whole span is one group.
const group = 64

// compact merges the parts of each group by cause. A group keeps its total time; its
// causes are in the order of their first parts. compact returns false if that removes less
// than an eighth of the parts.
func compact(s *result.WhySpan, group int) bool {
	was := len(s.Parts)
	kept := s.Parts[:0]
	for from := 0; from < was; from += group {
		list := s.Parts[from:min(from+group, was)]
		at := list[0].From
		first := len(kept)
		// Lengths are added up in place; kept never overtakes list.
		for _, p := range list {
			i := slices.IndexFunc(kept[first:], func(k result.WhyPart) bool {
				return slices.Equal(k.Path, p.Path)
			})
			if i < 0 {
				kept = append(kept, p)
				continue
			}
			k := &kept[first+i]
			k.To += p.To - p.From
		}
		for i := first; i < len(kept); i++ {
			k := &kept[i]
			k.From, k.To = at, at+k.To-k.From
			at = k.To
		}
	}
	clear(s.Parts[len(kept):])
	s.Parts = kept
	s.Merged = true
	return len(kept) < was-was/8
}
