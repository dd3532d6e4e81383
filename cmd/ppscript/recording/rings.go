package recording

import (
	"os"
	"time"

	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
)

// UsualPages is the size of a ring that is written to a file while it fills, in pages of 4 KiB.
const UsualPages = 512

// What a flight recorder holds: flightRate is the bytes that a busy CPU records in a second, 25,000
// events with stacks, and flightBytes bounds the rings of all CPUs together.
const (
	flightRate  = 6 << 20
	flightBytes = 256 << 20
)

// RingPages is the size of the rings where nobody said one, in pages of 4 KiB. A flight recorder
// holds its window in them; a window of 0 is a recording to a file. Where a user may lock less
// memory, they are the largest that he may, but not below perf.DefaultPages.
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
	// Each ring has a page for its positions.
	for pages > perf.DefaultPages && uint64((pages<<12+os.Getpagesize())*cpus) > most {
		pages /= 2
	}
	return pages
}
