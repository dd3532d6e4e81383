package perf

import (
	"fmt"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/unit"
)

// Stats is the traffic of a source since Open.
type Stats struct {
	Mode      string `json:"mode"` // cpu, pid, tid, workload, cgroup
	Events    int    `json:"events"`
	Opened    int    `json:"opened"` // number of open descriptors
	Wakeups   uint64 `json:"wakeups"`
	Records   uint64 `json:"records"`
	Bytes     uint64 `json:"bytes"`
	Lost      uint64 `json:"lost,omitempty"`
	Corrupt   uint64 `json:"corrupt,omitempty"`
	Throttled uint64 `json:"throttled,omitempty"`
	// times that a CPU came online and its first events were missed
	Gaps  uint64      `json:"gaps,omitempty"`
	Rings []RingStats `json:"rings"`
}

// Stats returns the sums of the rings' counters, as a copy.
func (s *Source) Stats() Stats {
	st := Stats{
		Mode: s.att.mode, Events: len(s.streams), Opened: s.opened, Wakeups: s.wakeups, Gaps: s.Gaps(),
	}
	for _, r := range s.live {
		st.add(r.stat)
	}
	for _, b := range s.buffers {
		st.add(b.stat)
	}
	return st
}

func (st *Stats) add(r RingStats) {
	st.Rings = append(st.Rings, r)
	st.Records += r.Records
	st.Bytes += r.Bytes
	st.Lost += r.Lost
	st.Corrupt += r.Corrupt
	st.Throttled += r.Throttled
}

// Descriptors returns one open descriptor of each event that has rings. The source keeps and closes
// them.
func Descriptors(s *Source) (fds []int) {
	seen := map[int]bool{}
	for _, f := range s.open.fds {
		if f.stream >= 0 && !seen[f.stream] {
			seen[f.stream] = true
			fds = append(fds, f.fd)
		}
	}
	return fds
}

// Describe returns a line for each attached event, with its target, for -v.
func (s *Source) Describe() []string {
	var lines []string
	for i, ev := range s.cfg.Events {
		if s.byEvent[i] == nil {
			lines = append(lines, ev.name()+": not opened (optional)")
			continue
		}
		line := ev.name()
		if ev.Label != "" && ev.Label != ev.Schema.FullName() {
			line += " = " + ev.Schema.FullName()
		}
		if ev.Filter != "" {
			line += " if " + ev.Filter
		}
		a := s.cfg.sampling(&ev, false, false)
		if a.Bits&unix.PerfBitFreq != 0 {
			line += fmt.Sprintf(", %d times a second", a.Sample)
		} else if a.Sample != 1 {
			line += fmt.Sprintf(", every %d", a.Sample)
		}
		if ev.Callchain {
			line += ", with stack"
		}
		if ev.CPUs != nil {
			line += ", on CPUs " + kernel.FormatCPUList(ev.CPUs)
		}
		lines = append(lines, line)
	}
	if len(s.open.fds) > 0 { // otherwise programs send all events
		lines = append(lines, s.describeTarget())
	}
	return append(lines, s.describeRings())
}

func (s *Source) describeTarget() string {
	tasks, cpus := map[int]bool{}, map[int]bool{}
	for _, f := range s.open.fds {
		tasks[f.place.pid] = true
		if f.place.cpu >= 0 {
			cpus[f.place.cpu] = true
		}
	}
	list := kernel.FormatCPUList(sortedKeys(cpus))
	line := "attached to "
	switch {
	case s.att.mode == "cpu":
		return line + "CPUs " + list
	case s.att.mode == "cgroup":
		return line + fmt.Sprintf("%s on CPUs %s", plural(len(tasks), "cgroup"), list)
	case s.att.mode == "workload":
		line += "the command"
	default:
		line += plural(len(tasks), "thread")
	}
	switch {
	case s.att.inherit && s.att.thread && !(s.counting && s.open.strays()):
		line += " and threads they make"
	case s.att.inherit:
		line += " and children"
	case s.att.family != nil && s.att.family.tids != nil:
		line += " and children, picked from all tasks"
	case s.att.family != nil:
		line += ", picked from all tasks"
	}
	if list != "" && s.cfg.Target.CPUs != nil {
		line += " on CPUs " + list
	}
	return line
}

func (s *Source) describeRings() string {
	per := "CPU"
	if len(s.live) > 0 && s.live[0].cpu < 0 {
		per = "thread"
	}
	size := unit.Size(int64(s.cfg.dataSize()))
	rings := fmt.Sprintf("%s of %s, one for each %s", plural(len(s.live), "ring"), size, per)
	if len(s.buffers) > 0 {
		buffers := fmt.Sprintf("%s of %s for what programs send, one for each CPU",
			plural(len(s.buffers), "buffer"), size)
		if len(s.live) == 0 {
			rings = buffers
		} else {
			rings += "; " + buffers
		}
	}
	if !s.counting {
		rings += fmt.Sprintf(", read when %d %% full", s.cfg.Watermark)
	}
	return rings + "; " + plural(s.opened, "open event")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
