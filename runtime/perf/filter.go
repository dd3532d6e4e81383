package perf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ppscript/runtime/event"
)

// kernelFilterError asks the kernel what is wrong with a filter: it is written
// to the event's filter file in a tracefs instance made for the purpose, which
// then holds the text with a marker and the reason. Empty if that cannot be
// done.
//
// Slow path: only after the filter was refused.
func kernelFilterError(tracefs string, s *event.Schema, filter string) string {
	if tracefs == "" {
		return ""
	}
	dir, err := os.MkdirTemp(filepath.Join(tracefs, "instances"), fmt.Sprintf("ppscript-%d-", os.Getpid()))
	if err != nil {
		return ""
	}
	// An instance is removed as a directory, whatever it contains.
	defer os.Remove(dir)
	file := filepath.Join(dir, "events", s.System, s.Name, "filter")
	if os.WriteFile(file, []byte(filter), 0) == nil {
		return ""
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return parseFilterError(string(b), filter)
}

// parseFilterError reads what the kernel leaves in the file: the filter, a
// line with a caret below the error, and "parse_error: " with the reason.
func parseFilterError(text, filter string) string {
	_, reason, ok := strings.Cut(text, "parse_error:")
	if !ok {
		return ""
	}
	reason = strings.ToLower(strings.TrimSpace(reason))
	head, caret, ok := strings.Cut(strings.TrimRight(text[:strings.Index(text, "parse_error:")], "\n"), "\n")
	if !ok || strings.TrimSpace(caret) != "^" {
		return reason
	}
	at := min(strings.Index(caret, "^"), len(head))
	rest := strings.TrimSpace(head[at:])
	if rest == "" {
		return reason + ", at the end"
	}
	return fmt.Sprintf("%s, at %q", reason, rest)
}
