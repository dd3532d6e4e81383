package privilege

import (
	"os"
)

// This file has the functions of package os for single files, with capabilities
// raised while the file is opened.

// ReadFile is os.ReadFile.
func ReadFile(s Set, path string) (b []byte, err error) {
	Raise(s, func() { b, err = os.ReadFile(path) })
	return b, err
}

// Open is os.Open.
func Open(s Set, path string) (f *os.File, err error) {
	Raise(s, func() { f, err = os.Open(path) })
	return f, err
}

// OpenFile is os.OpenFile.
func OpenFile(s Set, path string, flag int, mode os.FileMode) (f *os.File, err error) {
	Raise(s, func() { f, err = os.OpenFile(path, flag, mode) })
	return f, err
}

// ReadDir is os.ReadDir.
func ReadDir(s Set, path string) (list []os.DirEntry, err error) {
	Raise(s, func() { list, err = os.ReadDir(path) })
	return list, err
}

// Stat is os.Stat.
func Stat(s Set, path string) (info os.FileInfo, err error) {
	Raise(s, func() { info, err = os.Stat(path) })
	return info, err
}
