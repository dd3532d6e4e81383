// Package outfile opens the files that results are written to: for -o, flame
// graphs, heat maps and tables. Session and the command line call it.
//
// Results contain facts about other users of the machine, so only the owner can
// read a new file. The package waits for the reader of a pipe until the run
// ends. open(2) would wait for ever, and block a thread that our signals do not
// reach.
//
// The package does not decide whether a file may be written or replaced.
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

// readerLook is the period in which a pipe is checked for a reader.
const readerLook = 20 * time.Millisecond

// Open opens path for writing; flag is as for os.OpenFile, but without O_RDWR.
// The caller closes the file.
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

// Writable returns the system's error if a file cannot be opened for reading and
// writing, since a library that opens it later may hide that error. It makes the
// file if there is none.
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
