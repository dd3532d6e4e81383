package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A PMU is a provider of events for perf_event_open, listed in
// /sys/bus/event_source/devices. Its number differs between kernels: uprobe is
// 7 on one kernel and 9 on another.
type PMU struct {
	Name string
	Type uint32 // PerfEventAttr.Type
}

// ReadPMUs lists the PMUs, sorted by name.
func ReadPMUs(r Roots) ([]PMU, error) {
	dir := r.SysPath("bus/event_source/devices")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read PMUs: %w", err)
	}
	var pmus []PMU
	for _, e := range entries {
		text, err := readLine(dir + "/" + e.Name() + "/type")
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("read PMUs: %w", err)
		}
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read PMU %s: %w", e.Name(), err)
		}
		pmus = append(pmus, PMU{e.Name(), uint32(n)})
	}
	return pmus, nil
}

// FindPMU returns the PMU with a name.
func FindPMU(pmus []PMU, name string) (PMU, bool) {
	i := slices.IndexFunc(pmus, func(p PMU) bool { return p.Name == name })
	if i < 0 {
		return PMU{}, false
	}
	return pmus[i], true
}

// HasCPU reports whether there is a PMU that counts cycles of the CPU. Its
// name depends on the architecture: cpu, cpu_core and cpu_atom on hybrid
// Intel, armv8_pmuv3_0 and the like on arm64.
func HasCPU(pmus []PMU) bool {
	return slices.ContainsFunc(pmus, func(p PMU) bool {
		return p.Name == "cpu" || p.Name == "cpu_core" || strings.HasPrefix(p.Name, "armv8") ||
			strings.HasPrefix(p.Name, "armv9")
	})
}
