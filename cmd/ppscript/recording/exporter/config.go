// Package exporter keeps scripts running, for ppscript export. A file lists the scripts. The
// package reads it, starts them, and restarts a script that ends. When the file has changed,
// it stops and starts scripts accordingly. The caller provides the function that runs a
// script.
package exporter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ppscript/cmd/ppscript/recording"
	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/diag"
)

// maxConfig bounds the size of the file, in bytes.
const maxConfig = 1 << 20

// A Job is one line of the file: a name, and a script with its options.
type Job struct {
	Name  string
	Words []string
	Line  int
}

// Read reads a file of jobs: lines of NAME: SCRIPT [options], where # begins a comment.
func Read(ctx context.Context, path string) ([]Job, error) {
	var text strings.Builder
	f, err := infile.Open(path, maxConfig)
	if err == nil {
		err = errors.Join(f.CopyTo(ctx, &text), f.Close())
	}
	if err != nil {
		return nil, diag.FileError("read", path, err).
			OrHint("name a file with lines such as: calls: syscalls -p 4711")
	}
	jobs, err := Parse(text.String())
	if err != nil {
		return nil, diag.Errorf(diag.Usage, "read", path, "%w", err).
			WithHint("write lines such as: calls: syscalls -p 4711")
	}
	return jobs, nil
}

// Parse reads the text of a file of jobs.
func Parse(text string) (jobs []Job, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		switch {
		case !ok || name == "" || !word(name):
			return nil, fmt.Errorf("line %d: got no name of letters, digits, - and _ in front of a colon",
				number)
		case slices.ContainsFunc(jobs, func(j Job) bool { return j.Name == name }):
			return nil, fmt.Errorf("line %d: the name %s is there already", number, name)
		}
		words, err := recording.Words(rest)
		if err != nil {
			return nil, fmt.Errorf("line %d: no script behind %s, or a quote that does not end", number,
				name)
		}
		jobs = append(jobs, Job{name, words, number})
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("there is no script in it")
	}
	return jobs, nil
}

// word reports that s consists of letters, digits, - and _.
func word(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return true
}
