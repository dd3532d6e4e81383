package perfdata

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/system/kernel"
)

// This file writes the features about the machine's CPUs, memory nodes and PMUs.
// ppscript does not parse them when it reads a recording, but keeps them, so that
// they are in a recording that is written again. Their layout is described in
// tools/perf/Documentation/perf.data-file-format.txt.

// machineFeatures are these features, in order of id.
var machineFeatures = []int{featCPUTopology, featNUMATopology, featPMUMappings}

// readMachine makes the features of the running machine.
func readMachine(roots kernel.Roots, cpus int) map[int][]byte {
	m := map[int][]byte{}
	for id, body := range map[int][]byte{
		featCPUTopology:  cpuTopology(roots, cpus),
		featNUMATopology: numaTopology(roots),
		featPMUMappings:  pmuMappings(roots),
	} {
		if len(body) > 0 {
			m[id] = body
		}
	}
	return m
}

// cpuTopology encodes the lists of CPUs that share a package, the lists of CPUs
// that share a core, and for each CPU the numbers of its core and package; then
// the same for dies.
func cpuTopology(roots kernel.Roots, cpus int) []byte {
	of := func(cpu int, name string) string {
		return oneLine(roots.SysPath("devices/system/cpu", "cpu"+strconv.Itoa(cpu), "topology", name))
	}
	lists := func(names ...string) (b []byte) {
		var all []string
		for cpu := range cpus {
			for _, name := range names {
				if list := of(cpu, name); list != "" {
					if !slices.Contains(all, list) {
						all = append(all, list)
					}
					break
				}
			}
		}
		b = le.AppendUint32(b, uint32(len(all)))
		for _, list := range all {
			b = appendStr(b, list)
		}
		return b
	}
	number := func(cpu int, name string) uint32 {
		n, err := strconv.Atoi(of(cpu, name))
		if err != nil {
			return ^uint32(0)
		}
		return uint32(n)
	}
	if of(0, "core_id") == "" {
		return nil
	}
	b := append(lists("package_cpus_list", "core_siblings_list"),
		lists("core_cpus_list", "thread_siblings_list")...)
	for cpu := range cpus {
		b = le.AppendUint32(b, number(cpu, "core_id"))
		b = le.AppendUint32(b, number(cpu, "physical_package_id"))
	}
	if of(0, "die_id") == "" {
		return b
	}
	b = append(b, lists("die_cpus_list")...)
	for cpu := range cpus {
		b = le.AppendUint32(b, number(cpu, "die_id"))
	}
	return b
}

// numaTopology encodes each node's total and free memory in KiB, and its CPUs.
func numaTopology(roots kernel.Roots) []byte {
	dirs, _ := filepath.Glob(roots.SysPath("devices/system/node", "node[0-9]*"))
	if len(dirs) == 0 {
		return nil
	}
	b := le.AppendUint32(nil, uint32(len(dirs)))
	for _, dir := range dirs {
		node, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "node"))
		if err != nil {
			return nil
		}
		kb := func(name string) uint64 {
			text := procValue(filepath.Join(dir, "meminfo"), "Node "+strconv.Itoa(node)+" "+name)
			n, _ := strconv.ParseUint(strings.TrimSuffix(text, " kB"), 10, 64)
			return n
		}
		b = le.AppendUint32(b, uint32(node))
		b = le.AppendUint64(b, kb("MemTotal"))
		b = le.AppendUint64(b, kb("MemFree"))
		b = appendStr(b, oneLine(filepath.Join(dir, "cpulist")))
	}
	return b
}

// pmuMappings encodes the attr.type of each PMU.
func pmuMappings(roots kernel.Roots) []byte {
	files, _ := filepath.Glob(roots.SysPath("bus/event_source/devices", "*", "type"))
	var b []byte
	n := uint32(0)
	for _, file := range files {
		typ, err := strconv.ParseUint(oneLine(file), 10, 32)
		if err != nil {
			continue
		}
		b = appendStr(le.AppendUint32(b, uint32(typ)), filepath.Base(filepath.Dir(file)))
		n++
	}
	if n == 0 {
		return nil
	}
	return append(le.AppendUint32(nil, n), b...)
}

// cpuID returns perf's identifier of the CPU's model: vendor, family, model and
// stepping, or on arm64 the register MIDR_EL1.
func cpuID(roots kernel.Roots) string {
	if runtime.GOARCH == "arm64" {
		return oneLine(roots.SysPath("devices/system/cpu/cpu0/regs/identification/midr_el1"))
	}
	info := roots.ProcPath("cpuinfo")
	var parts []string
	for _, key := range []string{"vendor_id", "cpu family", "model", "stepping"} {
		v := procValue(info, key)
		if v == "" {
			return ""
		}
		parts = append(parts, v)
	}
	return strings.Join(parts, ",")
}

func oneLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
