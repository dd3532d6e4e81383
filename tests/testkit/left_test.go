package testkit

import (
	"strings"
	"testing"
)

// heard records the errors of a test that is expected to fail.
type heard struct {
	testing.TB
	errors []string
}

func (h *heard) Errorf(format string, _ ...any) { h.errors = append(h.errors, format) }

// A program that leaves a process behind, which holds its output, is distinguished from one that
// fails.
func TestProcessLeftBehind(t *testing.T) {
	Requires(t, Long) // the test waits as long as a process may hold an output
	h := &heard{TB: t}
	Run(h, "sh", "-c", "sleep 8 & exit 0")
	if len(h.errors) != 1 || !strings.Contains(h.errors[0], "a process that it started goes on") {
		t.Errorf("got %q, want that a process goes on", h.errors)
	}
}
