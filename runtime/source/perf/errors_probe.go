package perf

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// explainProbe returns the error with the reason why a probe did not open; nil
// if the reason is not specific to probes.
func explainProbe(m *member, e *diag.Error) error {
	if m.ev.Config1Text == "" {
		return nil
	}
	say := func(what, hint string, args ...any) error {
		e.Cause = fmt.Errorf("%s: %w", what, e.Cause)
		return e.WithHint(hint, args...)
	}
	user := isUserProbe(m)
	err := e.Cause
	switch {
	case errors.Is(err, unix.EILSEQ):
		// The text of this errno is about characters.
		e.Cause = errors.New("no instruction starts there")
		return e.WithHint("probe the start of the function")
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return say("the kernel has several functions of this name",
			"give the address of the one that is meant: grep -w %s /proc/kallsyms", m.ev.Config1Text)
	case errors.Is(err, unix.ENOENT) && !user:
		return say("the kernel has no such function",
			"look for it with: grep -w %s /proc/kallsyms", m.ev.Config1Text)
	case errors.Is(err, unix.ENOENT):
		return say("the file is gone", "see whether it is there with: ls -l %s", m.ev.Config1Text)
	case errors.Is(err, unix.EINVAL) && !user:
		return say("the kernel allows no probe there: the function is one that probes themselves need, "+
			"or was discarded after boot",
			"see the functions that it protects with: grep -w %s /sys/kernel/debug/kprobes/blacklist",
			m.ev.Config1Text)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOEXEC),
		errors.Is(err, kernel.ENOTSUPP):
		return say("the kernel cannot probe this instruction or file",
			"probe another instruction, or the file on another file system")
	}
	return nil
}

// isUserProbe reports that a probe is in a program: its Config1Text is a path.
// For a probe of a kernel function it is the function's name, and CAP_PERFMON is
// enough to open it.
func isUserProbe(m *member) bool {
	return m.ev.Config1Text != "" && m.ev.Config1Text[0] == '/'
}
