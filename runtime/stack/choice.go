package stack

import (
	"cmp"
	"strings"
)

// Choice says which stacks the samples of an event must have.
type Choice struct {
	Kernel, User bool
	// Max bounds the addresses of a stack; 0 means the kernel's limit.
	Max int
	// Unwind is how user code is unwound: "fp" by frame pointers, "dwarf" by
	// unwind tables from a copy of the stack, "auto" by both.
	Unwind string
	// UserBytes is the number of bytes of the user stack to copy for "dwarf".
	UserBytes int
	// Copies says that the user asked for copies of UserBytes, so that no programs of the
	// kernel unwind the stacks instead.
	Copies bool
	// Show says that logs show the stacks.
	Show bool
	// Innermost has samples of a recording that have no stack stand for the function that ran.
	Innermost bool
	// IfAny says that stacks are shown where a recording has them, and nobody misses others.
	IfAny bool
}

func (s *Choice) String() string {
	var parts []string
	if s.Kernel {
		parts = append(parts, "kernel")
	}
	if s.User {
		how := map[string]string{
			"dwarf": "by unwind tables",
			"auto":  "by unwind tables or frame pointers",
		}[s.Unwind]
		parts = append(parts, "user "+cmp.Or(how, "by frame pointers"))
	}
	return strings.Join(parts, ", ")
}

// Dwarf reports that registers and a copy of the user stack are needed.
func (s *Choice) Dwarf() bool { return s.User && (s.Unwind == "dwarf" || s.Unwind == "auto") }
