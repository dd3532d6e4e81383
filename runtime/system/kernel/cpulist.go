package kernel

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"ppscript/runtime/text/diag"
)

// maxCPU bounds the numbers in a list, so that "0-4000000000" is an error and
// not gigabytes of memory. The largest NR_CPUS of any kernel is 8192 so far.
const maxCPU = 1<<16 - 1

// ParseCPUList reads the kernel's notation for sets of CPUs, "0-3,8", and
// returns the numbers sorted and without repetition. The text must name at
// least one CPU.
func ParseCPUList(s string) ([]int, error) {
	bad := func(format string, args ...any) ([]int, error) {
		return nil, diag.Errorf(diag.Usage, "parse CPU list", strconv.Quote(s), format, args...).
			WithHint("write numbers and ranges, for example 0-3,8")
	}
	s = strings.TrimSpace(s)
	if s == "" {
		return bad("no CPU named")
	}
	var cpus []int
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		first, last, isRange := strings.Cut(part, "-")
		lo, ok := cpuNumber(first)
		if !ok {
			return bad("got %q, want a CPU number from 0 to %d or a range", part, maxCPU)
		}
		hi := lo
		if isRange {
			if hi, ok = cpuNumber(last); !ok {
				return bad("got %q, want a CPU number from 0 to %d or a range", part, maxCPU)
			}
			if hi < lo {
				return bad("range %q is backwards", part)
			}
		}
		for cpu := lo; cpu <= hi; cpu++ {
			cpus = append(cpus, cpu)
		}
		// Overlapping ranges must not grow the list without bound.
		if len(cpus) > 2*maxCPU {
			cpus = sorted(cpus)
		}
	}
	return sorted(cpus), nil
}

// cpuNumber reads a number that consists of digits only: no sign, no blank.
func cpuNumber(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return int(n), err == nil && n <= maxCPU
}

func sorted(cpus []int) []int {
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

// FormatCPUList writes cpus in the kernel's notation; order and repetition in
// cpus do not matter. No CPU is "".
func FormatCPUList(cpus []int) string {
	cpus = sorted(slices.Clone(cpus))
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}

// CPUs lists the machine's CPUs: the running ones, the ones plugged in, and the
// ones that the kernel has room for. Each list is sorted.
type CPUs struct {
	Online, Present, Possible []int
}

// ReadCPUs reads the CPU lists from sysfs. CPUs come and go, so read again for
// each session instead of keeping the answer.
func ReadCPUs(r Roots) (CPUs, error) {
	var c CPUs
	for name, list := range map[string]*[]int{
		"online": &c.Online, "present": &c.Present, "possible": &c.Possible,
	} {
		text, err := readLine(r.SysPath("devices/system/cpu", name))
		if err != nil {
			return CPUs{}, fmt.Errorf("read %s CPUs: %w", name, err)
		}
		if *list, err = ParseCPUList(text); err != nil {
			return CPUs{}, fmt.Errorf("read %s CPUs: %w", name, err)
		}
	}
	return c, nil
}

// OnlineCPUs lists the online CPUs of the running machine.
func OnlineCPUs() ([]int, error) {
	c, err := ReadCPUs(Roots{})
	return c.Online, err
}

// OnACPU opens an event that counts for all CPUs on one CPU: the first one, or another one if
// that is offline.
func OnACPU(open func(cpu int) (fd int, err error)) (fd int, err error) {
	if fd, err = open(0); !errors.Is(err, syscall.ENODEV) {
		return fd, err
	}
	cpus, _ := OnlineCPUs()
	for _, cpu := range cpus {
		if fd, err = open(cpu); !errors.Is(err, syscall.ENODEV) {
			break
		}
	}
	return fd, err
}

// OnlineSince maps each online CPU to a number that changes each time the CPU
// comes online; it has no other meaning. It is the inode number of the CPU's
// topology directory, which the kernel makes anew each time (topology_add_dev in
// drivers/base/topology.c). Without that directory, a CPU that went offline and
// came back between two calls is not noticed.
//
// A CPU is listed only if it is online after its number was read: the directory
// exists for a while before the CPU runs, and events opened in that time never
// start.
func OnlineSince(r Roots) (map[int]uint64, error) {
	before, err := onlineCPUs(r)
	if err != nil {
		return nil, err
	}
	since := make(map[int]uint64, len(before))
	for _, cpu := range before {
		since[cpu] = inode(r.SysPath("devices/system/cpu/cpu"+strconv.Itoa(cpu), "topology"))
	}
	after, err := onlineCPUs(r)
	maps.DeleteFunc(since, func(cpu int, _ uint64) bool { return !slices.Contains(after, cpu) })
	return since, err
}

func onlineCPUs(r Roots) ([]int, error) {
	text, err := readLine(r.SysPath("devices/system/cpu/online"))
	if err != nil {
		return nil, fmt.Errorf("read online CPUs: %w", err)
	}
	cpus, err := ParseCPUList(text)
	if err != nil {
		return nil, fmt.Errorf("read online CPUs: %w", err)
	}
	return cpus, nil
}

// inode is the number of a file, 0 if there is none.
func inode(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return st.Ino
}

// Check returns an error that names the CPUs of the list that are not online.
// Without it, a part of the wanted CPUs would be missing silently.
func (c CPUs) Check(cpus []int) error {
	var absent, offline []int
	for _, cpu := range cpus {
		switch {
		case slices.Contains(c.Online, cpu):
		case slices.Contains(c.Present, cpu):
			offline = append(offline, cpu)
		default:
			absent = append(absent, cpu)
		}
	}
	online := FormatCPUList(c.Online)
	switch {
	case len(absent) > 0:
		return diag.Errorf(diag.Usage, "select CPUs", FormatCPUList(cpus), "no such CPU %s; online: %s",
			FormatCPUList(absent), online).
			WithHint("choose from %s", online)
	case len(offline) > 0:
		return diag.Errorf(diag.Usage, "select CPUs", FormatCPUList(cpus), "CPU %s is offline; online: %s",
			FormatCPUList(offline), online).
			WithHint("choose from %s, or: echo 1 > /sys/devices/system/cpu/cpu%d/online", online, offline[0])
	}
	return nil
}

// Intersect returns the CPUs that are in both lists, sorted.
func Intersect(a, b []int) []int {
	var both []int
	for _, cpu := range a {
		if slices.Contains(b, cpu) {
			both = append(both, cpu)
		}
	}
	return sorted(both)
}
