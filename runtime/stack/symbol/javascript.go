package symbol

import "strings"

// Where code is that compilers made, and code that is interpreted by such.
const (
	jitDSO         = "[jit]"
	interpretedDSO = "[interpreted]"
)

// javaScript is a function's name without what V8 puts in front: "JS:*f /a.js:1:2" is f of a file,
// compiled by the best of its compilers. One function would have several names as it gets faster.
// What is interpreted (with --interpreted-frames-native-stack) is told by where it is.
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

// compilerName is the name of a function that a compiler made, and where it is.
func (s *Symbolizer) compilerName(name string) (symbol, dso string) {
	if s.opt.Mangled {
		return name, jitDSO
	}
	name, dso = javaScript(name)
	return Demangle(name), dso
}
