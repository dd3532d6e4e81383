package main

import (
	"errors"
	"os"
)

// scratch holds the temporary directories that are removed when the process ends.
type scratch struct{ dirs []string }

// directory makes a temporary directory.
func (s *scratch) directory() (string, error) {
	dir, err := os.MkdirTemp("", "ppscript-")
	if err == nil {
		s.dirs = append(s.dirs, dir)
	}
	return dir, err
}

// remove removes all directories.
func (s *scratch) remove() error {
	var errs []error
	for _, dir := range s.dirs {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}
