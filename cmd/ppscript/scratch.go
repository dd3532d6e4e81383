package main

import (
	"errors"
	"os"
)

// A scratch is the directories that go with the process.
type scratch struct{ dirs []string }

// directory makes one.
func (s *scratch) directory() (string, error) {
	dir, err := os.MkdirTemp("", "ppscript-")
	if err == nil {
		s.dirs = append(s.dirs, dir)
	}
	return dir, err
}

// remove removes them all.
func (s *scratch) remove() error {
	var errs []error
	for _, dir := range s.dirs {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}
