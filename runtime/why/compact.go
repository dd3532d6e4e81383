package why

import (
	"slices"

	"ppscript/runtime/result"
)

// This file bounds the parts of long spans: a second of a thread that waits for others may
// have a hundred thousand. Nobody reads them one by one, but their sums count.

// group is how many parts that follow each other are put together, unless that is in vain.
const group = 64

// compact puts parts that are near each other together by cause: the times of a group are
// those that it had, in the order in which its causes came first. It returns false if that
// leaves hardly less.
func compact(s *result.WhySpan, group int) bool {
	was := len(s.Parts)
	kept := s.Parts[:0]
	for from := 0; from < was; from += group {
		list := s.Parts[from:min(from+group, was)]
		at := list[0].From
		first := len(kept)
		// Lengths are added up in the parts themselves; kept is never ahead of list.
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
