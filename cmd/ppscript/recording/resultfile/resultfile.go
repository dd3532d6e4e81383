// Package resultfile is where the results of a run go: its output, or the file of -o. The command line
// opens it early, empties it when results are about to come, and opens it anew for log rotation.
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

// A File is where results go: stdout, or the file of -o. It remembers that
// its reader went away.
type File struct {
	mu      sync.Mutex // of file and err: a signal opens the file anew
	file    *os.File
	Path    string // "" for stdout
	created bool   // the file did not exist before
	err     error  // of opening it anew
	begun   bool
	Broken  atomic.Bool // the reader went away
	// Written says that there was something to write.
	Written atomic.Bool
}

// Open opens the file for writing, which tells at once if that cannot be.
// Its old content stays until Begin: a run that fails early destroys nothing.
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

// Begin empties the file: results are about to come.
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

// reopenTime is how long a pipe that is opened anew may have no reader.
const reopenTime = time.Second

// Reopen opens the file anew, for log rotation: it was moved away.
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
		e.Class = diag.Run // its name was good before
		o.err = e
		return
	}
	old := o.file
	o.file = f
	if err := old.Close(); err != nil {
		o.err = err
	}
}

// Close ends the file. One that was made for a run that showed nothing is
// removed again.
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
