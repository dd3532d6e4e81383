// Package resultfile writes the results of a run to standard output or to the file of -o. The
// command line opens the file early, truncates it just before the first result, and reopens it for
// log rotation.
package resultfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"
)

// A File is standard output or the file of -o. It records that its reader has
// closed the pipe.
type File struct {
	mu      sync.Mutex // guards file and err, since a signal can reopen the file
	file    *os.File
	Path    string // "" for stdout
	created bool   // the file did not exist before
	err     error  // the error of Reopen
	begun   bool
	Broken  atomic.Bool // a write failed with EPIPE
	// Written says that Write was called with data.
	Written atomic.Bool
}

// Open opens the file for writing, so that a file that cannot be written is
// reported early. The old content stays until Begin: a run that fails early
// destroys nothing.
func Open(ctx context.Context, path string, stdout *os.File) (*File, error) {
	if path == "" {
		return &File{file: stdout, begun: true}, nil
	}
	_, err := os.Stat(path)
	o := &File{Path: path, created: errors.Is(err, fs.ErrNotExist)}
	o.file, err = outfile.Open(ctx, path, os.O_CREATE|os.O_APPEND)
	if err != nil {
		return nil, outputError(path, err)
	}
	return o, nil
}

func outputError(path string, err error) *diag.Error {
	return diag.FileError("open output", path, err).OrHint("give -o a file that can be written")
}

// Begin truncates the file. It is called before the first result.
func (o *File) Begin() error {
	o.begun = true
	if o.Path == "" {
		return nil
	}
	err := o.file.Truncate(0)
	if errors.Is(err, syscall.EINVAL) {
		err = nil // a device or pipe
	}
	return err
}

// Write implements io.Writer.
func (o *File) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	if len(p) > 0 {
		o.Written.Store(true)
	}
	n, err := o.file.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		o.Broken.Store(true)
	}
	return n, err
}

// reopenTime is how long Reopen waits for a reader of a named pipe.
const reopenTime = time.Second

// Reopen opens the path again, after log rotation has moved the file away.
func (o *File) Reopen() {
	if o.Path == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), reopenTime)
	defer cancel()
	f, err := outfile.Open(ctx, o.Path, os.O_CREATE|os.O_APPEND)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		e := outputError(o.Path, err)
		e.Class = diag.Run // not a usage error: the path worked before
		o.err = e
		return
	}
	old := o.file
	o.file = f
	if err := old.Close(); err != nil {
		o.err = err
	}
}

// Close closes the file. If Open created it and the run ended before Begin, it
// is removed.
func (o *File) Close() error {
	if o.Path == "" {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.file.Close()
	if o.created && !o.begun {
		err = errors.Join(err, os.Remove(o.Path))
	}
	return err
}
