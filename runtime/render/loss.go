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

// appendLoss appends "lost 12 events, 3 unmatched". The first number is there
// even if it is 0: it tells the kernel's losses from the rest.
func appendLoss(dst []byte, l *event.Loss) []byte {
	for i, c := range lossCounts(l) {
		if i == 0 {
			dst = strconv.AppendUint(append(dst, "lost "...), c.n, 10)
			dst = append(dst, " event"...)
			if c.n != 1 {
				dst = append(dst, 's')
			}
		} else if c.n > 0 {
			dst = strconv.AppendUint(append(dst, ", "...), c.n, 10)
			dst = append(append(dst, ' '), c.name...)
		}
	}
	return dst
}
