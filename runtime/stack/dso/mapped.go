package dso

import (
	"errors"
	"os"

	"ppscript/runtime/system/privilege"
)

// mapped opens a file by one of its paths. If the kernel has reported the
// identity of the file, it is opened with raised capabilities, since the caller
// may have no access to its directory. It is then used only if it is a program,
// since the path may mean another file by now. All other files are opened with
// the caller's rights: debug files, maps of compilers, files that a recording
// or the user names.
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
