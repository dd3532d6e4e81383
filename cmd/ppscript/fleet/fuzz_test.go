package fleet

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Any client of the hub may ask: a request has words that stand for themselves on a command
// line, and a script's files stay where they are unpacked.
func FuzzJob(f *testing.F) {
	for _, j := range []Job{
		{ID: "a", Request: Request{Name: "syscalls",
			Options: []Option{{Name: "than", Values: []string{"5ms"}}}}},
		{Request: Request{Name: "x.star", Args: []string{"--", "-p"}}, Bundle: &Bundle{Main: "x.star",
			Files: map[string][]byte{"x.star": []byte("a"), "../lib/y.star": []byte("b"), "l//z.star": nil}}},
		{Bundle: &Bundle{Main: "../x.star", Files: map[string][]byte{"../../../../x.star": nil, "/etc/x": nil}}},
	} {
		f.Add(must(j))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var j Job
		if json.Unmarshal(text, &j) != nil {
			return
		}
		shipped := func(name string) bool { return name == "syscalls" }
		common := func(name string) bool { return name == "than" || name == "pids" }
		if err := j.Check(shipped, common); err == nil {
			for _, word := range j.words() {
				if strings.ContainsAny(word, "\x00\n") {
					t.Errorf("got the word %q", word)
				}
			}
		}
		if j.Bundle == nil {
			return
		}
		dir, err := j.Bundle.unpackUnsigned()
		if err != nil {
			return
		}
		defer os.RemoveAll(dir)
		files := 0
		if err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files++
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		want := 1 // the bundle itself
		for name := range j.Bundle.Files {
			if !strings.Contains(name, "//") {
				want++
			}
		}
		if files != want {
			t.Errorf("got %d files in the bundle's directory, want %d: %q", files, want, text)
		}
	})
}

// A policy is read as it is meant, or refused: limits are not wider than those that are said.
func FuzzPolicy(f *testing.F) {
	f.Add("allow syscalls --than=1ms..1s --pids=*\nallow kvm-* --*\nasker ops alice\nmax-duration 10m\n" +
		"max-cpu 20%\nmax-budget 2%\n# x\n")
	f.Add("max-duration -1s\nmax-rows 99999999999999999999\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePolicy("policy", text)
		if err != nil {
			return
		}
		l := Limits{Jobs: 3, Duration: time.Minute}
		p.Bound(&l)
		if l.Jobs > 3 || l.Duration > time.Minute || l.Jobs < 0 || l.Duration < 0 {
			t.Errorf("%q: got %+v", text, l)
		}
	})
}
