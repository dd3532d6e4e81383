package infile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// This file is for files that are needed before a run: scripts, settings, keys, earlier results. No
// run bounds the wait yet, so a pipe must have a writer, or get one soon.

// writerTime is the longest wait for the writer of a pipe: a shell starts both sides at
// once.
const writerTime = time.Second

// ErrNoWriter is the cause of the error for a pipe without a writer.
var ErrNoWriter = errors.New("it is a pipe that nobody writes to")

// OpenNow opens the file at path for reading. A pipe without a writer is an error. The caller
// closes the file.
func OpenNow(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.Mode()&fs.ModeNamedPipe != 0 {
		for end := time.Now().Add(writerTime); !written(f); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				err = &fs.PathError{Op: "read", Path: path, Err: ErrNoWriter}
				break
			}
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// written reports that a pipe has a writer, or something to read. poll(2) cannot distinguish an
// empty pipe with a writer from one without; tee(2) can, and leaves the data in the pipe.
func written(f *os.File) bool {
	var aside [2]int
	if unix.Pipe2(aside[:], unix.O_CLOEXEC|unix.O_NONBLOCK) != nil {
		return true // the check is not possible: read the pipe
	}
	defer unix.Close(aside[0])
	defer unix.Close(aside[1])
	c, err := f.SyscallConn()
	if err != nil {
		return true
	}
	has := true
	err = c.Control(func(fd uintptr) {
		n, err := unix.Tee(int(fd), aside[1], 1, unix.SPLICE_F_NONBLOCK)
		has = n > 0 || err != nil // EAGAIN: there is a writer, but no data yet
	})
	return has || err != nil
}

// Read reads the whole file at path. More than most bytes are an error.
func Read(path string, most int64) ([]byte, error) {
	f, err := OpenNow(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = &tooLarge{most}
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}
