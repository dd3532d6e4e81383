package host

import (
	b "ppscript/builtins"
	"ppscript/runtime/script/frontend"
)

// Functions that per-event code calls are one file each: their help, their
// code for the interpreter, and the compilation of calls.

const nativeCost = "2 to 10 ns in a native function, 50 ns in an interpreted one"

func natives() []*b.Builtin {
	return []*b.Builtin{
		ksym(), comm(), ntoh("ntohs", "16", 2, "0x5000"), ntoh("ntohl", "32", 4, "0x0100007f"),
		log2(), bucket(), flags(), strncmp(), userString(), sum(), percent(),
		task(), cgroup(), perCPU(), traceArg(), cast(), containerOf(), kernelString(), enumerator(),
	}
}

// numberOfName compiles a function of one name that is known before events come: its
// number then is a constant.
func numberOfName() *frontend.Native {
	return &frontend.Native{
		Returns: frontend.IntKind,
		OfName:  true,
		Compile: func(c *frontend.NativeCall) (v frontend.NativeValue, ok bool) {
			if c.Len() != 1 || c.Const(0) == nil {
				return v, false
			}
			return c.Evaluate()
		},
	}
}
