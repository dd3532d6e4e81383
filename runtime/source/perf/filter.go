package perf

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
)

// kernelFilterError gets the reason why the kernel refuses a filter. It makes a
// temporary instance in tracefs and writes the filter to the event's filter
// file there; the file then has the filter with a marker and the reason. The
// result is empty if that is not possible.
//
// Slow path: only after the filter was refused.
func kernelFilterError(tracefs string, s *event.Schema, filter string) string {
	if tracefs == "" {
		return ""
	}
	dir, err := os.MkdirTemp(filepath.Join(tracefs, "instances"),
		fmt.Sprintf("%s%d-", instancePrefix, os.Getpid()))
	if err != nil {
		return ""
	}
	// An instance is removed with rmdir, although it has files.
	defer os.Remove(dir)
	file := filepath.Join(dir, "events", s.System, s.Name, "filter")
	if os.WriteFile(file, []byte(filter), 0) == nil {
		return ""
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return parseFilterError(string(b), fieldNames(s))
}

// instancePrefix begins the names of instances made here; the process number of
// the owner follows.
const instancePrefix = "ppscript-"

// instanceAge is the least age of an instance that is removed because its owner
// does not seem to exist: the owner may be in another container, whose
// processes are not visible here.
const instanceAge = 10 * time.Second

// removeInstances removes instances in tracefs whose owner was killed.
// Instances in use cannot be removed.
func removeInstances(tracefs string) {
	if tracefs == "" {
		return
	}
	dir := filepath.Join(tracefs, "instances")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), instancePrefix)
		number, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		if !ours || err != nil || syscall.Kill(pid, 0) != syscall.ESRCH {
			continue
		}
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > instanceAge {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// parseFilterError parses the text of the filter file after an error: the
// filter, a line with a caret below the error, and "parse_error: " with the
// reason.
func parseFilterError(text string, fields []string) string {
	head, reason, ok := strings.Cut(text, "parse_error:")
	if !ok {
		return ""
	}
	reason = strings.TrimSpace(reason)
	if reason != "" {
		reason = strings.ToLower(reason[:1]) + reason[1:]
	}
	head, caret, ok := strings.Cut(strings.TrimRight(head, "\n"), "\n")
	if !ok || strings.TrimSpace(caret) != "^" {
		return reason
	}
	at := min(strings.Index(caret, "^"), len(head))
	if reason == "field not found" {
		// For this reason the caret is after the unknown name.
		if words := strings.FieldsFunc(head[:at], notName); len(words) > 0 {
			name := words[len(words)-1]
			return "no such field " + name + diag.DidYouMean(name, fields)
		}
	}
	if rest := strings.TrimSpace(head[at:]); rest != "" {
		return fmt.Sprintf("%s, at %q", reason, rest)
	}
	return reason + ", at the end"
}

func notName(r rune) bool {
	return r != '_' && !(r >= '0' && r <= '9') && !(r >= 'a' && r <= 'z') && !(r >= 'A' && r <= 'Z')
}

func fieldNames(s *event.Schema) []string {
	var names []string
	for i := range s.Fields {
		names = append(names, s.Fields[i].Name)
	}
	return names
}
