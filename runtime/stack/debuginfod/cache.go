package debuginfod

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// This file implements the cache on disk, DIR/ID/KIND. The modification time of a file is the
// time of its last use. Several runs share the cache; a file that another run removes is
// fetched again. A file KIND.missing says that no server had the file.

const (
	newPrefix     = "new-"
	missingSuffix = ".missing"
	// missingTime is the time after which servers are asked again for a file
	// that none had.
	missingTime = 10 * time.Minute
	// staleTime is the age at which an unfinished file of another run is removed.
	staleTime = time.Hour
)

type cache struct {
	dir  string
	most int64
	mu   sync.Mutex
}

func (c *cache) place(w want) string { return filepath.Join(c.dir, w.id, string(w.kind)) }

// find finds a file in the cache; missing says that no server had it within
// missingTime.
func (c *cache) find(w want) (path string, missing bool) {
	path = c.place(w)
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // an error is ignored: it may be another user's directory
		return path, false
	}
	st, err := os.Lstat(path + missingSuffix)
	return "", err == nil && time.Since(st.ModTime()) < missingTime
}

// missing records that no server has a file.
func (c *cache) missing(w want) {
	path := c.place(w) + missingSuffix
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
		_ = f.Close()
		now := time.Now()
		_ = os.Chtimes(path, now, now)
	}
}

// take moves a file into the cache, after making room for it.
func (c *cache) take(from string, w want, bytes int64) (path string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room(bytes, filepath.Join(c.dir, w.id))
	path = c.place(w)
	if err := os.Rename(from, path); err != nil {
		return "", err
	}
	_ = os.Remove(path + missingSuffix)
	return path, nil
}

// room removes the least recently used files until a number of bytes fits.
func (c *cache) room(bytes int64, keep string) {
	type entry struct {
		path string
		size int64
		used time.Time
	}
	var list []entry
	sum := bytes
	dirs, _ := os.ReadDir(c.dir)
	for _, d := range dirs {
		at := filepath.Join(c.dir, d.Name())
		if !d.IsDir() {
			continue
		}
		files, _ := os.ReadDir(at)
		for _, f := range files {
			st, err := f.Info()
			if err != nil || !st.Mode().IsRegular() {
				continue
			}
			age, name := time.Since(st.ModTime()), f.Name()
			switch {
			case strings.HasPrefix(name, newPrefix):
				if age > staleTime {
					_ = os.Remove(filepath.Join(at, name))
				}
				continue // it is being written by this or another run
			case strings.HasSuffix(name, missingSuffix) && age > missingTime:
				_ = os.Remove(filepath.Join(at, name))
				continue
			}
			sum += st.Size()
			list = append(list, entry{filepath.Join(at, f.Name()), st.Size(), st.ModTime()})
		}
		if at != keep {
			_ = os.Remove(at) // removed only if it is empty
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.used.UnixNano(), b.used.UnixNano()) })
	for _, e := range list {
		if sum <= c.most {
			return
		}
		if os.Remove(e.path) == nil {
			sum -= e.size
		}
	}
}
