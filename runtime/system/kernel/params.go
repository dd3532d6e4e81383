package kernel

import "strings"

// A Param is a parameter of a system call: its name in the kernel and its C
// type.
type Param struct{ Name, Type string }

// SyscallParams are the parameters of a system call of an architecture (a
// GOARCH); ok is false if the call is not known.
func SyscallParams(arch, name string) (params []Param, ok bool) {
	text, ok := syscallParamsOf[arch][name]
	if !ok {
		text, ok = syscallParams[name]
	}
	if text == "" {
		return nil, ok
	}
	for p := range strings.SplitSeq(text, "; ") {
		name, typ, _ := strings.Cut(p, " ")
		params = append(params, Param{name, typ})
	}
	return params, ok
}
