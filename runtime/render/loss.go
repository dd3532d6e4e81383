package render

import (
	"strconv"

	"ppscript/runtime/event"
)

// A lossCount is one counter of a Loss under its name in the output.
type lossCount struct {
	name string
	n    uint64
}

// lossCounts lists all counters, the kernel's own first.
func lossCounts(l *event.Loss) [8]lossCount {
	return [8]lossCount{
		{"lost", l.Lost}, {"dropped", l.Dropped}, {"late", l.Late}, {"truncated", l.Truncated},
		{"unmatched", l.Unmatched}, {"evicted", l.Evicted}, {"errors", l.Errors}, {"throttled", l.Throttled},
	}
}

// appendLoss appends "lost 12 events, 3 unmatched", or "3 events unmatched".
func appendLoss(dst []byte, l *event.Loss) []byte {
	first := true
	for i, c := range lossCounts(l) {
		switch {
		case c.n == 0:
			continue
		case i == 0:
			dst = append(strconv.AppendUint(append(dst, "lost "...), c.n, 10), plural(c.n)...)
		case first:
			dst = append(strconv.AppendUint(dst, c.n, 10), plural(c.n)...)
			dst = append(append(dst, ' '), c.name...)
		default:
			dst = strconv.AppendUint(append(dst, ", "...), c.n, 10)
			dst = append(append(dst, ' '), c.name...)
		}
		first = false
	}
	return dst
}

func plural(n uint64) string {
	if n == 1 {
		return " event"
	}
	return " events"
}
