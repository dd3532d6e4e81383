package recording

import (
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/stack/dso"
)

// This file copies the programs and libraries that samples of a recording hit
// into perf's cache. perf archive reads them from there, and the recording stays
// usable when a program is rebuilt. The layout is that of perf buildid-cache:
//
//	~/.debug/PATH/ID/elf, kallsyms of the kernel
//	~/.debug/.build-id/ab/cdef... -> ../../PATH/ID

// cacheDir returns the directory of perf's cache.
func cacheDir() (string, error) {
	if dir := os.Getenv("PERF_BUILDID_DIR"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".debug"), err
}

// KeepInCache copies files into perf's cache and returns its directory; "" if the
// user has no home directory.
func KeepInCache(ids []perfdata.BuildID) (dir string, err error) {
	if dir, err = cacheDir(); err != nil {
		return "", nil
	}
	if _, err := os.Stat(filepath.Dir(dir)); err != nil {
		return "", nil
	}
	return dir, keepFiles(dir, ids)
}

// keepFiles copies files into the cache in dir. A file that cannot be copied is
// left out; the recording is complete without it.
func keepFiles(dir string, ids []perfdata.BuildID) error {
	var errs []error
	for _, b := range ids {
		id := hex.EncodeToString(b.ID)
		link := filepath.Join(dir, ".build-id", id[:2], id[2:])
		if _, err := os.Stat(link); err == nil || len(id) < 8 {
			continue
		}
		place := filepath.Join(dir, filepath.Clean("/"+b.Path), id)
		if err := keepFile(place, b, id); err != nil {
			errs = append(errs, err)
			continue
		}
		target, err := filepath.Rel(filepath.Dir(link), place)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(link), 0o755)
		}
		if err == nil {
			_ = os.Remove(link) // its target is missing
			err = os.Symlink(target, link)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// keepFile adds one file to the cache, by a hard link if possible, else by a
// copy.
func keepFile(place string, b perfdata.BuildID, id string) error {
	if err := os.MkdirAll(place, 0o755); err != nil {
		return err
	}
	from, to := b.Path, filepath.Join(place, "elf")
	if b.Kernel {
		from, to = "/proc/kallsyms", filepath.Join(place, "kallsyms")
	}
	if !b.Kernel && os.Link(from, to) == nil {
		if dso.ReadBuildID(to, 0) == id {
			return nil
		}
		return errors.Join(errChanged(from), os.Remove(to))
	}
	src, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.CreateTemp(place, "new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	err = errors.Join(err, dst.Close())
	if err == nil && !b.Kernel && dso.ReadBuildID(dst.Name(), 0) != id {
		err = errChanged(from)
	}
	if err == nil {
		err = os.Rename(dst.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(dst.Name()))
	}
	return nil
}

// errChanged is the error for a file that has changed since it was recorded.
func errChanged(path string) error {
	return &fs.PathError{Op: "keep", Path: path, Err: errors.New("it has changed")}
}
