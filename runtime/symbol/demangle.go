package symbol

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Demangle turns the linker's name of a C++ or Rust function into the
// language's own, without parameters; other names stay. Names that only look
// mangled stay too.
func Demangle(name string) string {
	if !mangled(name) {
		return name
	}
	plain, err := demangle.ToString(name, demangle.NoParams)
	if err != nil || plain == "" {
		return name
	}
	return plain
}

func mangled(name string) bool {
	return strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") ||
		strings.HasPrefix(name, "__Z") || strings.HasPrefix(name, "___Z") || strings.HasPrefix(name, "_GLOBAL_")
}
