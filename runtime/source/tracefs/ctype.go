package tracefs

import (
	"strings"

	"ppscript/runtime/expr/c"
)

// bareType removes qualifiers, such as const and __user, from a C type.
func bareType(t string) string {
	words := strings.Fields(t)
	n := 0
	for _, w := range words {
		switch w {
		case "const", "volatile", "__user", "__rcu", "static", "__percpu", "__iomem", "__seg_gs":
			continue
		}
		words[n] = w
		n++
	}
	return strings.Join(words[:n], " ")
}

// elemSize is the size of an element of type t, 0 if t is not known to be an
// integer or a pointer. It is needed for dynamic arrays, whose line in the
// format has only the size of the locator.
func elemSize(t string) int {
	if typ, ok := c.TypeNamed(bareType(t)); ok && (typ.Integer() || typ.Pointer()) {
		return typ.Size
	}
	return 0
}

// aggregate reports that t is a struct or union by value.
func aggregate(t string) bool {
	t = bareType(t)
	return !strings.Contains(t, "*") && (strings.HasPrefix(t, "struct ") || strings.HasPrefix(t, "union "))
}
