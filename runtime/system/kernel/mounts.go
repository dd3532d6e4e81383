package kernel

import (
	"fmt"
	"slices"
	"strings"
)

// Mounts has the mount points of the file systems that tracing uses; a string
// is empty if the file system is not mounted.
type Mounts struct {
	Tracefs     string
	BPFFS       string
	Securityfs  string
	Cgroup2     string
	PerfEventV1 string // the v1 hierarchy that has the perf_event controller
	CPUV1       string // the v1 hierarchy that has the cpu controller
	// OthersV1 are the other v1 hierarchies; the hierarchy of systemd is the
	// first.
	OthersV1 []string
}

// PerfCgroup is the hierarchy whose directories can be opened with
// PERF_FLAG_PID_CGROUP: the v1 hierarchy of perf_event if there is one, which
// removes the controller from v2, else v2.
func (m Mounts) PerfCgroup() string {
	if m.PerfEventV1 != "" {
		return m.PerfEventV1
	}
	return m.Cgroup2
}

// ReadMounts reads /proc/self/mountinfo.
func ReadMounts(r Roots) (Mounts, error) {
	var m Mounts
	text, err := readLine(r.ProcPath("self/mountinfo"))
	if err != nil {
		return m, fmt.Errorf("read mounts: %w", err)
	}
	for line := range strings.Lines(text) {
		// ID PARENT DEV ROOT MOUNTPOINT OPTIONS [TAG...] - TYPE SOURCE SUPEROPTIONS
		left, right, ok := strings.Cut(line, " - ")
		before, after := strings.Fields(left), strings.Fields(right)
		if !ok || len(before) < 5 || len(after) < 1 {
			continue
		}
		at := unescapeMount(before[4])
		switch after[0] {
		case "tracefs":
			// The kernel makes a second mount below debugfs on access; using
			// the other one gives no deprecation warning.
			if m.Tracefs == "" || strings.Contains(m.Tracefs, "/debug/") {
				m.Tracefs = at
			}
		case "bpf":
			first(&m.BPFFS, at)
		case "securityfs":
			first(&m.Securityfs, at)
		case "cgroup2":
			first(&m.Cgroup2, at)
		case "cgroup":
			options := strings.Split(after[len(after)-1], ",")
			switch {
			case slices.Contains(options, "perf_event"):
				first(&m.PerfEventV1, at)
			case slices.Contains(options, "name=systemd"):
				m.OthersV1 = slices.Insert(m.OthersV1, 0, at)
			default:
				m.OthersV1 = append(m.OthersV1, at)
			}
			if slices.Contains(options, "cpu") {
				first(&m.CPUV1, at)
			}
		}
	}
	return m, nil
}

func first(dst *string, value string) {
	if *dst == "" {
		*dst = value
	}
}

// unescapeMount replaces the octal escapes for blanks and backslashes in
// mountinfo.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
