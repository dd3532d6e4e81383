package perf

import (
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/target/cgroup"
	"ppscript/runtime/text/diag"
)

// cgroups adds the places of cgroups: events are opened for each cgroup on
// every CPU.
func (a *attachment) cgroups(names []string, cpus []int) error {
	root, dirs, err := cgroup.Dirs(names)
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		a.rings = append(a.rings, ringKey{cpu, -1})
	}
	for _, dir := range dirs {
		f, err := os.Open(dir)
		if err != nil {
			return (&diag.Error{
				Op:      "attach",
				Subject: "cgroup " + strings.TrimPrefix(dir, root+"/"),
				Cause:   err,
				Class:   diag.Attach,
			}).
				WithHint("list them with: find %s -type d", root)
		}
		a.files = append(a.files, f)
		for i, cpu := range cpus {
			a.places = append(a.places, place{int(f.Fd()), cpu, unix.PERF_FLAG_PID_CGROUP, i})
		}
	}
	return nil
}

// TellsCgroups reports that samples can have their cgroup, and that new cgroups have
// records: Linux 5.7 with perf's cgroup support.
func TellsCgroups() bool {
	a := unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config:      unix.PERF_COUNT_SW_DUMMY,
		Sample_type: unix.PERF_SAMPLE_CGROUP,
		Bits:        unix.PerfBitDisabled | unix.PerfBitExcludeKernel | unix.PerfBitTask | bitCgroup,
	}
	fd, err := unix.PerfEventOpen(&a, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}

// TellsCgroup reports that samples with this layout have their cgroup.
func (l *Layout) TellsCgroup() bool { return l.SampleType&unix.PERF_SAMPLE_CGROUP != 0 }
