package symbol

import (
	"strconv"
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
	callee, stub := strings.CutSuffix(name, "@plt")
	plain, err := demangle.ToString(protect(callee), demangle.NoParams)
	if err != nil || plain == "" {
		return name
	}
	if stub {
		plain += "@plt"
	}
	return plain
}

func mangled(name string) bool {
	return strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") ||
		strings.HasPrefix(name, "__Z") || strings.HasPrefix(name, "___Z") ||
		strings.HasPrefix(name, "_GLOBAL_")
}

// protect doubles the underscore that identifiers of old Rust names begin
// with. The compiler puts one in front of a name that is no identifier
// ("_$LT$"), and the demangler takes off any.
func protect(name string) string {
	const hash = len("17h0123456789abcdefE")
	if !strings.HasPrefix(name, "_ZN") || !strings.Contains(name, "17h") || len(name) < 3+hash {
		return name
	}
	out, rest := []byte(name[:3]), name[3:]
	changed := false
	for len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' {
		n, digits := 0, 0
		for digits < len(rest) && digits < 6 && rest[digits] >= '0' && rest[digits] <= '9' {
			n = 10*n + int(rest[digits]-'0')
			digits++
		}
		if digits+n > len(rest) {
			return name
		}
		id := rest[digits : digits+n]
		rest = rest[digits+n:]
		if n > 1 && id[0] == '_' && (id[1] == '_' || id[1]|0x20 >= 'a' && id[1]|0x20 <= 'z') {
			id, changed = "_"+id, true
		}
		out = append(strconv.AppendInt(out, int64(len(id)), 10), id...)
	}
	if !changed {
		return name
	}
	return string(out) + rest
}
