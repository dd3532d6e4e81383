package library

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ppscript/runtime/text/diag"
)

// A scratch is a directory in the cache for files that are being fetched. It is
// made when it is needed and removed at the end. Its owner holds a lock on it.
// If the owner is killed, the lock is gone, and the next process that makes a
// scratch removes the directory.
type scratch struct {
	cache string
	dir   string
	lock  *os.File
}

const (
	scratchPrefix = "tmp-"
	// settleTime is the least age of a directory without a lock to be removed:
	// a new directory is made before it is locked.
	settleTime = time.Minute
)

// path returns the directory, which is made at the first call.
func (s *scratch) path() (string, error) {
	if s.dir != "" {
		return s.dir, nil
	}
	const hint = "set PPSCRIPTCACHE to a directory that can be written"
	if err := os.MkdirAll(s.cache, 0o755); err != nil {
		return "", (&diag.Error{Op: "make", Subject: s.cache, Cause: diag.Reason(err)}).WithHint(hint)
	}
	removeStale(s.cache)
	dir, err := os.MkdirTemp(s.cache, scratchPrefix)
	if err != nil {
		return "", (&diag.Error{Op: "write", Subject: s.cache, Cause: diag.Reason(err)}).WithHint(hint)
	}
	if s.lock, err = os.Open(dir); err == nil {
		err = syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	s.dir = dir
	return dir, err
}

func (s *scratch) close() error {
	if s.dir == "" {
		return nil
	}
	err := errors.Join(removeTree(s.dir), s.lock.Close())
	s.dir, s.lock = "", nil
	return err
}

// removeStale removes the directories of processes that were killed. If that
// fails, the next process tries again.
func removeStale(cache string) {
	entries, _ := os.ReadDir(cache)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), scratchPrefix) {
			continue
		}
		dir := filepath.Join(cache, e.Name())
		f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		st, err := f.Stat()
		settled := err == nil && time.Since(st.ModTime()) > settleTime
		if settled && syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = removeTree(dir)
		}
		f.Close()
	}
}

// removeTree removes a directory whose content may be read-only.
func removeTree(dir string) error {
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o755)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
