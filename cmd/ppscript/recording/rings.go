package recording

import (
	"os"
	"time"

	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
)

// UsualPages is the size of each ring of a recording that is written continuously, in pages of
// 4 KiB.
const UsualPages = 512

// Sizes of a flight recorder's rings, in bytes. flightRate is the assumed data of a busy CPU in a
// second: 25,000 events with stacks. flightBytes bounds the rings of all CPUs together.
const (
	flightRate  = 6 << 20
	flightBytes = 256 << 20
)

// RingPages returns the default size of each ring, in pages of 4 KiB. For a flight recorder, the
// rings should hold its window; a window of 0 means a continuous recording. If the user may lock
// less memory than that, it is the largest permitted size, but at least perf.DefaultPages.
func RingPages(window time.Duration) int {
	pages, cpus := UsualPages, 1
	if online, err := kernel.OnlineCPUs(); err == nil && len(online) > 0 {
		cpus = len(online)
	}
	if window > 0 {
		held := min(int64(window.Seconds()*flightRate), int64(flightBytes/cpus)) >> 12
		for int64(pages) < held {
			pages *= 2
		}
		if pages<<12 > flightBytes/cpus {
			pages = max(UsualPages, pages/2)
		}
	}
	most := kernel.RingBytes(kernel.Roots{}, cpus)
	// Each ring has one further page, for its positions.
	for pages > perf.DefaultPages && uint64((pages<<12+os.Getpagesize())*cpus) > most {
		pages /= 2
	}
	return pages
}
