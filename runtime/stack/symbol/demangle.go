package symbol

import (
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Demangle converts the linker's name of a C++ or Rust function to the
// language's name, without parameters. Other names, and names that only look
// mangled, are returned unchanged.
func Demangle(name string) string {
	if !mangled(name) {
		return name
	}
	callee, stub := strings.CutSuffix(name, "@plt")
	plain := DemangleWith(protect(callee), demangle.NoParams)
	if plain == "" || plain == protect(callee) {
		return name
	}
	if stub {
		plain += "@plt"
	}
	return plain
}

// Bounds on names, which come from untrusted files. Parts of a mangled name refer to earlier parts,
// so a few letters can double its length, and deeply nested parts are searched again at each level.
// So the lengths of the mangled and the plain name are bounded, above the usual lengths of
// compilers. Longer names are not demangled.
const (
	longestMangled = 8 << 10
	longestPower   = 13 // the plain name has less than 1<<longestPower bytes
)

// DemangleWith is like Demangle, with options of the demangler.
func DemangleWith(name string, options ...demangle.Option) string {
	if len(name) > longestMangled {
		return name
	}
	plain, err := demangle.ToString(name, append(options, demangle.MaxLength(longestPower))...)
	if err != nil || len(plain) >= 1<<longestPower {
		return name
	}
	return plain
}

func mangled(name string) bool {
	return strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") ||
		strings.HasPrefix(name, "__Z") || strings.HasPrefix(name, "___Z") ||
		strings.HasPrefix(name, "_GLOBAL_")
}

// protect doubles the leading underscore of identifiers in old Rust names. The
// compiler adds an underscore only to names that are no identifiers ("_$LT$"),
// but the demangler always removes one.
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
