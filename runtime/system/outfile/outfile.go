// Package outfile opens the files that results are written to: of -o, of flame
// graphs, heat maps, tables. Session and the command line call it.
//
// Results tell about other users of the machine, so a new file is for its
// owner alone, as recordings are. A pipe without a reader is waited for as
// long as the run is, and no longer: open(2) would wait for ever, and hold a
// thread that no signal of ours reaches.
//
// The package decides nothing about names: neither whether a file may be
// written, nor whether an old one may be replaced.
package outfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Mode is the permission mode of new files.
const Mode fs.FileMode = 0o600

// readerLook is how often it is tried whether a pipe has a reader.
const readerLook = 20 * time.Millisecond

// Open opens path for writing, and makes it if flag says so; flag is the flag of
// os.OpenFile, without O_RDWR. The caller closes the file.
func Open(ctx context.Context, path string, flag int) (*os.File, error) {
	for {
		f, err := OpenNow(path, os.O_WRONLY|syscall.O_NONBLOCK|flag)
		if err == nil || !waits(path, err) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, &fs.PathError{Op: "wait for a reader of", Path: path, Err: context.Cause(ctx)}
		case <-time.After(readerLook):
		}
	}
}

// Writable says in the words of the system why a file cannot be read and written,
// which a library that opens it may not tell; it makes the file if there is none.
func Writable(path string) error {
	f, err := OpenNow(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	return f.Close()
}

// waits reports that a pipe has no reader yet.
func waits(path string, err error) bool {
	if !errors.Is(err, syscall.ENXIO) {
		return false
	}
	st, err := os.Stat(path)
	return err == nil && st.Mode()&fs.ModeNamedPipe != 0
}
