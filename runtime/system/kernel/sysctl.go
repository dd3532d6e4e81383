package kernel

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"ppscript/runtime/text/diag"
)

// Sysctl reads a setting, such as kernel.watchdog, from /proc/sys.
func Sysctl(r Roots, name string) (string, error) {
	path := strings.ReplaceAll(name, ".", "/")
	for part := range strings.SplitSeq(path, "/") {
		if part == "" {
			return "", errors.New("not the name of a setting; want kernel.NAME and the like")
		}
	}
	text, err := os.ReadFile(r.ProcPath("sys/" + path))
	if errors.Is(err, fs.ErrNotExist) && r.Proc == "" && path == "kernel/osrelease" {
		return release() // proc is not mounted
	}
	if err != nil {
		return "", diag.Reason(err)
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}
