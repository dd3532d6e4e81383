package library

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// This file reads files that another user may have put there. Only a regular
// file is opened: opening a FIFO could wait for ever, and reading a device
// might not end. The size is bounded.

// Bounds on the sizes of files.
const (
	maxMod    = 1 << 20  // a ppscript.mod, a ppscript.sum, a list of versions
	maxScript = 16 << 20 // a script
	maxZip    = 64 << 20 // a library, packed and unpacked; scripts are small
	maxFiles  = 10_000   // files in a library
)

// errIrregular is the cause of errors for files that are not regular.
var errIrregular = errors.New("not a regular file")

// openRegular opens a regular file for reading.
func openRegular(path string) (*os.File, error) {
	return regular(os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0))
}

func regular(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &os.PathError{Op: "read", Path: f.Name(), Err: errIrregular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readRegular reads a regular file of at most limit bytes.
func readRegular(path string, limit int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

// readAll reads the whole file, at most limit bytes.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("larger than %d bytes", limit)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}
