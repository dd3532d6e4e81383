package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ppscript/runtime/diag"
	"ppscript/runtime/outfile"
)

// An output is where results go: stdout, or the file of -o. It remembers that
// its reader went away.
type output struct {
	mu     sync.Mutex // of file and err: a signal opens the file anew
	file   *os.File
	path   string // "" for stdout
	made   bool   // the file did not exist before
	err    error  // of opening it anew
	begun  bool
	broken atomic.Bool
}

// openOutput opens the file for writing, which tells at once if that cannot be.
// Its old content stays until begin: a run that fails early destroys nothing.
func openOutput(ctx context.Context, path string, stdout *os.File) (*output, error) {
	if path == "" {
		return &output{file: stdout, begun: true}, nil
	}
	_, err := os.Stat(path)
	o := &output{path: path, made: errors.Is(err, fs.ErrNotExist)}
	o.file, err = outfile.Open(ctx, path, os.O_CREATE|os.O_APPEND)
	if err != nil {
		return nil, outputError(path, err)
	}
	return o, nil
}

func outputError(path string, err error) *diag.Error {
	return diag.FileError("open output", path, err).OrHint("give -o a file that can be written")
}

// begin empties the file: results are about to come.
func (o *output) begin() error {
	o.begun = true
	if o.path == "" {
		return nil
	}
	err := o.file.Truncate(0)
	if errors.Is(err, syscall.EINVAL) {
		err = nil // a device or pipe
	}
	return err
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.file.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		o.broken.Store(true)
	}
	return n, err
}

// reopenTime is how long a pipe that is opened anew may have no reader.
const reopenTime = time.Second

// reopen opens the file anew, for log rotation: it was moved away.
func (o *output) reopen() {
	if o.path == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), reopenTime)
	defer cancel()
	f, err := outfile.Open(ctx, o.path, os.O_CREATE|os.O_APPEND)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		e := outputError(o.path, err)
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

// close ends the file. One that was made for a run that showed nothing is
// removed again.
func (o *output) close() error {
	if o.path == "" {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.file.Close()
	if o.made && !o.begun {
		err = errors.Join(err, os.Remove(o.path))
	}
	return err
}
