package kernel

import (
	"errors"
	"os"
	"strings"
)

// Sysctl reads a setting, kernel.watchdog say, from /proc/sys.
func Sysctl(r Roots, name string) (string, error) {
	path := strings.ReplaceAll(name, ".", "/")
	for part := range strings.SplitSeq(path, "/") {
		if part == "" {
			return "", errors.New("not the name of a setting; want kernel.NAME and the like")
		}
	}
	text, err := os.ReadFile(r.ProcPath("sys/" + path))
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return "", err
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}
