package cgroup

import (
	"os"
	"path"
	"strings"

	"ppscript/runtime/kernel"
)

// HasQuota reports that the CPU time of a cgroup, or of one above it, has a limit: cpu.max of
// version 2, cpu.cfs_quota_us of version 1. It looks where distributions mount them.
func HasQuota(roots kernel.Roots, cgroup string) bool {
	for at := path.Clean("/" + cgroup); ; at = path.Dir(at) {
		for _, hierarchy := range []string{"", "cpu", "cpu,cpuacct"} {
			dir := roots.SysPath("fs", "cgroup", hierarchy, at)
			if limited(dir+"/cpu.max", "max") || limited(dir+"/cpu.cfs_quota_us", "-1") {
				return true
			}
		}
		if at == "/" {
			return false
		}
	}
}

// limited reports that a file is there, and begins with another word than that for no limit.
func limited(file, none string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	words := strings.Fields(string(text))
	return len(words) > 0 && words[0] != none
}
