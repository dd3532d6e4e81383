package script

import (
	"fmt"
	"io"
	"os"
)

// MaxFile bounds a script: a name may mean a file, a link or a device that has no
// end.
const MaxFile = 8 << 20

// ReadFile reads a script, which is no longer than MaxFile.
func ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadSource(f)
}

// ReadSource reads a script from where it comes.
func ReadSource(r io.Reader) ([]byte, error) {
	src, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err == nil && len(src) > MaxFile {
		err = fmt.Errorf("is no script: it has more than %d MiB", MaxFile>>20)
	}
	return src, err
}
