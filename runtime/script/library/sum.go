package library

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"

	"ppscript/runtime/text/diag"
)

// A sum is a ppscript.sum: for each library version the hash of its contents,
// and the hash of its ppscript.mod, in the form of go.sum.
type sum struct {
	path    string
	lines   map[string]string // "path version" or "path version/ppscript.mod" to hash
	changed bool
	// fixed says that a version without a line is an error, so that a line that
	// was lost or removed is not added again from the present files.
	fixed bool
	// note is called with a message for each added line; may be nil.
	note func(line string)
}

func readSum(path string) (*sum, error) {
	s := &sum{path: path, lines: map[string]string{}}
	b, err := readRegular(path, maxMod)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, (&diag.Error{Op: "read", Subject: path, Cause: diag.Reason(err)}).
			WithHint("look at it: ls -l %s", path)
	}
	sc := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; sc.Scan(); n++ {
		f := strings.Fields(sc.Text())
		if len(f) == 0 {
			continue
		}
		if len(f) != 3 || !strings.HasPrefix(f[2], "h1:") {
			return nil, diag.Errorf(diag.Usage, "read", fmt.Sprintf("%s:%d", path, n),
				"want: path version h1:hash").
				WithHint("remove the line and run: ppscript mod tidy")
		}
		key := f[0] + " " + f[1]
		if other, ok := s.lines[key]; ok && other != f[2] {
			return nil, diag.Errorf(diag.Usage, "read", fmt.Sprintf("%s:%d", path, n),
				"another hash of %s than in a line before", key).
				WithHint("remove the wrong one of the two lines")
		}
		s.lines[key] = f[2]
	}
	return s, sc.Err()
}

// format returns the file's text, with sorted lines.
func (s *sum) format() []byte {
	var lines []string
	for k, h := range s.lines {
		lines = append(lines, k+" "+h+"\n")
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, ""))
}

// has reports that a key is pinned.
func (s *sum) has(key string) bool {
	_, ok := s.lines[key]
	return ok
}

// check compares a hash with the pinned one. If there is none, it pins the hash
// unless fixed is set.
func (s *sum) check(key, hash string) error {
	have, ok := s.lines[key]
	switch {
	case !ok && s.fixed:
		return diag.Errorf(diag.Run, "verify", key, "not in %s", s.path).
			WithHint("if you trust what is there now, pin it: ppscript mod tidy")
	case !ok:
		s.lines[key], s.changed = hash, true
		if s.note != nil && !strings.HasSuffix(key, "/"+ModName) {
			s.note("pinned " + key + " in " + s.path)
		}
		return nil
	case have != hash:
		return diag.Errorf(diag.Run, "verify", key, "the contents changed: got %s, pinned is %s", hash, have).
			WithHint("somebody moved the tag, or the copy is damaged; if you trust it, remove the line from %s",
				s.path)
	}
	return nil
}

// save writes the file if lines were added.
func (s *sum) save() error {
	if !s.changed {
		return nil
	}
	s.changed = false
	return write(s.path, s.format())
}

// merge is like save, for a file that all runs of a user share: lines added by
// other runs are kept.
func (s *sum) merge() error {
	if !s.changed {
		return nil
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer lock.Close() // also releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	now, err := readSum(s.path)
	if err != nil {
		return err
	}
	for key, hash := range now.lines {
		s.lines[key] = hash
	}
	return s.save()
}

func modKey(v module.Version) string { return v.Path + " " + v.Version + "/" + ModName }
func zipKey(v module.Version) string { return v.Path + " " + v.Version }

// hashMod returns the hash of the text of a ppscript.mod.
func hashMod(text []byte) (string, error) {
	return dirhash.Hash1([]string{ModName}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	})
}
