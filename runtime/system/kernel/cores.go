package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// ReadCores lists the CPUs of each core, sorted. A core has several CPUs if it
// runs several threads at a time (SMT). If the kernel does not say, each core
// has one CPU.
func ReadCores(r Roots) ([][]int, error) {
	cpus, err := ReadCPUs(r)
	if err != nil {
		return nil, err
	}
	var cores [][]int
	for _, cpu := range cpus.Online {
		text, err := readLine(r.SysPath("devices/system/cpu",
			fmt.Sprintf("cpu%d/topology/thread_siblings_list", cpu)))
		core := []int{cpu}
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("read core of CPU %d: %w", cpu, err)
		default:
			if core, err = ParseCPUList(text); err != nil {
				return nil, fmt.Errorf("read core of CPU %d: %w", cpu, err)
			}
		}
		if !slices.ContainsFunc(cores, func(c []int) bool { return slices.Contains(c, cpu) }) {
			cores = append(cores, core)
		}
	}
	return cores, nil
}
