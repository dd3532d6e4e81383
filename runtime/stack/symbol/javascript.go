package symbol

import "strings"

// Values of Frame.DSO for code made by JIT compilers, and for interpreted code
// with such frames.
const (
	jitDSO         = "[jit]"
	interpretedDSO = "[interpreted]"
)

// javaScript removes V8's prefix from a function's name: "JS:*f /a.js:1:2" is f of a file,
// compiled by the optimizing compiler. With the prefix, a function would have several names as it
// gets optimized. Interpreted functions (with --interpreted-frames-native-stack) get another DSO.
func javaScript(name string) (plain, dso string) {
	kind, rest, ok := strings.Cut(name, ":")
	if !ok || rest == "" {
		return name, jitDSO
	}
	switch kind {
	case "JS", "LazyCompile", "Function", "Script", "Eval":
	default:
		return name, jitDSO
	}
	dso = jitDSO
	if strings.IndexByte("*~^+", rest[0]) >= 0 {
		if rest[0] == '~' {
			dso = interpretedDSO
		}
		rest = rest[1:]
	}
	if strings.HasPrefix(rest, " ") || rest == "" {
		rest = "(anonymous)" + rest
	}
	return rest, dso
}

// compilerName returns the name and the DSO of a function that a JIT compiler
// made.
func (s *Symbolizer) compilerName(name string) (symbol, dso string) {
	if s.opt.Mangled {
		return name, jitDSO
	}
	name, dso = javaScript(name)
	return Demangle(name), dso
}
