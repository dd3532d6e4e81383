package tracefs

import (
	"strings"

	"ppscript/runtime/expr/c"
)

// bareType drops the qualifiers that do not change what a type is.
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
// integer or a pointer. A fixed array of known length does not need it; a
// dynamic one does, because its format line has the size of the locator only.
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
