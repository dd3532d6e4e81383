package load

// This file tells where the events are that programs keep.

// KeptCountSize is how many bytes of KeptCountMap a CPU has: a cache line, which no other
// CPU writes. It begins with the count.
const KeptCountSize = 64

// KeptMemory is the descriptors of the maps with the kept events, and how many CPUs these are
// of; ok is false if nothing is kept. They stay the Run's.
func (r *Run) KeptMemory() (cpus, countsFD, slotsFD int, ok bool) {
	m := r.maps[KeptMap.Of()]
	if m == nil {
		return 0, -1, -1, false
	}
	return r.cpus, r.maps[KeptCountMap.Of()].FD(), m.FD(), true
}
