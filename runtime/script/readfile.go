package script

import (
	"fmt"
	"io"

	"ppscript/runtime/system/infile"
)

// maxFile bounds a script, since a name may be a device without an end.
const maxFile = 8 << 20

// ReadFile reads a script of at most maxFile bytes.
func ReadFile(name string) ([]byte, error) {
	f, err := infile.OpenNow(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadSource(f)
}

// ReadSource reads a script from a reader.
func ReadSource(r io.Reader) ([]byte, error) {
	src, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(src) > maxFile {
		err = fmt.Errorf("is no script: it has more than %d MiB", maxFile>>20)
	}
	return src, err
}
