package load

import "slices"

// Ranges are the CPUs that are in both lists, as ranges; nil if that is all.
func Ranges(cpus, only []int) [][2]int {
	if cpus == nil && only == nil {
		return nil
	}
	list := cpus
	if cpus == nil {
		list = only
	}
	ranges := [][2]int{}
	for _, cpu := range slices.Compact(slices.Sorted(slices.Values(list))) {
		if cpus != nil && only != nil && !slices.Contains(only, cpu) {
			continue
		}
		if n := len(ranges); n > 0 && ranges[n-1][1] == cpu-1 {
			ranges[n-1][1] = cpu
			continue
		}
		ranges = append(ranges, [2]int{cpu, cpu})
	}
	return ranges
}
