package cgroup

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"ppscript/runtime/system/kernel"
)

// A Quota says whether the CPU time of a cgroup is limited.
type Quota struct {
	Limited   bool // it has a limit, of its own or of a cgroup above it
	Throttled bool // one of these limits has stopped threads at least once
}

// QuotaOf reads the quota of a cgroup from cpu.max (version 2) or cpu.cfs_quota_us (version 1), and
// from cpu.stat, at the usual mount points.
func QuotaOf(roots kernel.Roots, cgroup string) (q Quota) {
	for at := path.Clean("/" + cgroup); ; at = path.Dir(at) {
		for _, hierarchy := range []string{"", "cpu", "cpu,cpuacct"} {
			dir := roots.SysPath("fs", "cgroup", hierarchy, at)
			if limited(dir+"/cpu.max", "max") || limited(dir+"/cpu.cfs_quota_us", "-1") {
				q.Limited, q.Throttled = true, q.Throttled || throttled(dir+"/cpu.stat")
			}
		}
		if at == "/" {
			return q
		}
	}
}

// AnyQuota reports whether any cgroup has a limit on its CPU time.
func AnyQuota(roots kernel.Roots) (found bool) {
	top := roots.SysPath("fs", "cgroup")
	for _, hierarchy := range []string{"", "cpu", "cpu,cpuacct"} {
		// Errors are ignored: a cgroup that is removed during the walk has no
		// limit.
		at := filepath.Join(top, hierarchy)
		_ = filepath.WalkDir(at, func(file string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil
			}
			if limited(file+"/cpu.max", "max") || limited(file+"/cpu.cfs_quota_us", "-1") {
				found = true
				return filepath.SkipAll
			}
			return nil
		})
		if found {
			return true
		}
	}
	return false
}

// limited reports that the file exists and that its first word is not none, the word for "no
// limit".
func limited(file, none string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	words := strings.Fields(string(text))
	return len(words) > 0 && words[0] != none
}

// throttled reports whether a limit has stopped threads; true if the file does not say.
func throttled(file string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "nr_throttled "); ok {
			return strings.TrimSpace(n) != "0"
		}
	}
	return true
}
