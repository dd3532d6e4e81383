package library

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"

	"ppscript/runtime/diag"
)

// A Sum is a ppscript.sum: for each library version the hash of its contents,
// and the hash of its ppscript.mod, in the form of go.sum.
type Sum struct {
	lines   map[string]string // "path version" or "path version/ppscript.mod" to hash
	changed bool
}

func readSum(path string) (*Sum, error) {
	s := &Sum{lines: map[string]string{}}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, &diag.Error{Op: "read", Subject: path, Cause: err}
	}
	sc := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; sc.Scan(); n++ {
		f := strings.Fields(sc.Text())
		if len(f) == 0 {
			continue
		}
		if len(f) != 3 || !strings.HasPrefix(f[2], "h1:") {
			return nil, diag.Errorf(diag.Usage, "read", fmt.Sprintf("%s:%d", path, n), "want: path version h1:hash").
				WithHint("remove the line and run: ppscript mod tidy")
		}
		s.lines[f[0]+" "+f[1]] = f[2]
	}
	return s, sc.Err()
}

// format is the file's text, sorted.
func (s *Sum) format() []byte {
	var lines []string
	for k, h := range s.lines {
		lines = append(lines, k+" "+h+"\n")
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, ""))
}

// check compares a hash with the pinned one, or pins it.
func (s *Sum) check(key, hash string) error {
	have, ok := s.lines[key]
	switch {
	case !ok:
		s.lines[key], s.changed = hash, true
		return nil
	case have != hash:
		return diag.Errorf(diag.Run, "verify", key, "the contents changed: got %s, pinned is %s", hash, have).
			WithHint("somebody moved the tag, or the copy is damaged; if you trust it, remove the line from %s", SumName)
	}
	return nil
}

func modKey(v module.Version) string { return v.Path + " " + v.Version + "/" + ModName }
func zipKey(v module.Version) string { return v.Path + " " + v.Version }

// hashMod is the hash of the text of a ppscript.mod.
func hashMod(text []byte) (string, error) {
	return dirhash.Hash1([]string{ModName}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	})
}
