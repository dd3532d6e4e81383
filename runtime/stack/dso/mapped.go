package dso

import (
	"errors"
	"os"

	"ppscript/runtime/system/privilege"
)

// mapped opens the file by one of its ways. A file that the kernel has told us
// the identity of may lie where the caller of the program cannot look: it is
// opened all the same, and believed only if it is a program, since the path may
// mean another file by now. Everything else is opened with the caller's rights:
// debug files, maps of compilers, files that a recording or the user names.
func (f *File) mapped(open func() (*os.File, error)) (file *os.File, err error) {
	if file, err = open(); err == nil || f.store.opt.NoProc || f.ID.Ino == 0 {
		return file, err
	}
	var raised *os.File
	privilege.Raise(privilege.Programs, func() { raised, _ = open() })
	if raised == nil {
		return nil, err
	}
	var magic [4]byte
	if _, e := raised.ReadAt(magic[:], 0); e != nil || string(magic[:]) != "\x7fELF" {
		return nil, errors.Join(err, raised.Close())
	}
	return raised, nil
}
