package stack

import (
	"cmp"
	"strings"
)

// Choice says which stacks events shall bring.
type Choice struct {
	Kernel, User bool
	// Max is the number of addresses, 0 the kernel's limit.
	Max int
	// Unwind is how user code is unwound: "fp" by frame pointers, "dwarf" by
	// unwind tables from a copy of the stack, "auto" by both.
	Unwind string
	// UserBytes is how much of the user stack is copied for "dwarf".
	UserBytes int
	// Copies says that copies of that size are asked for, rather than programs that read the
	// tables.
	Copies bool
	// Show says that logs show the stack.
	Show bool
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
