package sources

import (
	"slices"
	"strconv"

	b "ppscript/builtins"
	"ppscript/builtins/pipeline"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// ProbeBuiltins declares the sources for dynamic probes and breakpoints.
func ProbeBuiltins() []*b.Builtin {
	return []*b.Builtin{kprobe(), kretprobe(), uprobe(), uretprobe(), usdt(), breakpoint()}
}

// Parameters that probes share.
var (
	fileParam = b.Param{
		Name:     "file",
		Type:     b.String,
		Required: true,
		Doc:      `path of the program or library, or its name where PATH or the library folders have it ("libc"); "" is the program of pid`,
	}
	filterParam = b.Param{
		Name:    "filter",
		Type:    b.String,
		Named:   true,
		Default: starlark.String(""),
		Doc:     "a C expression over the fields, such as arg1 > 2; done in ppscript",
	}
	argsParam = b.Param{
		Name:    "args",
		Type:    b.String,
		Named:   true,
		Default: starlark.String(""),
		Doc:     `the arguments in C, "int fd, char *path": fields of these names and types; char * is the text itself`,
	}
	retParam = b.Param{
		Name:    "ret",
		Type:    b.String,
		Named:   true,
		Default: starlark.String(""),
		Doc:     `the type of the result in C, "int": the field result`,
	}
	pidParam = b.Param{
		Name:  "pid",
		Type:  b.Int,
		Named: true,
		Doc:   "only this process; paths are those that it sees, also in a container",
	}
	limitParam = b.Param{
		Name:    "limit",
		Type:    b.Int,
		Named:   true,
		Unit:    "functions",
		Default: starlark.MakeInt(probe.DefaultLimit),
		Doc:     "how many a pattern may match",
	}
	aliasParam  = b.Param{Name: "alias", Type: b.String, Named: true, Doc: "what results call the event"}
	cpusParam   = b.Param{Name: "cpus", Type: b.String, Named: true, Doc: "only these CPUs, such as 0-3,8"}
	optionParam = b.Param{
		Name:    "optional",
		Type:    b.Bool,
		Named:   true,
		Default: starlark.False,
		Doc:     "left out, with a note, where it does not exist",
	}
)

// probeSource makes the stream of a probe from spec and the arguments of the call.
func probeSource(c *b.Call, spec probe.Spec) (starlark.Value, error) {
	has := func(name string) bool {
		declared := slices.ContainsFunc(c.Builtin.Params, func(p b.Param) bool { return p.Name == name })
		return declared && c.Has(name)
	}
	if has("pid") {
		if c.Int("pid") < 1 {
			return nil, c.Errorf("pid", "got %d, want a process", c.Int("pid"))
		}
		spec.PID = int(c.Int("pid"))
	}
	if has("limit") {
		if c.Int("limit") < 1 {
			return nil, c.Errorf("limit", "got %d, want at least 1", c.Int("limit"))
		}
		spec.Limit = int(c.Int("limit"))
	}
	if has("args") {
		spec.Args = c.String("args")
	}
	if has("ret") {
		spec.Ret = c.String("ret")
	}
	s := plan.ProbeSource(spec)
	s.Alias, s.Pos = c.String("alias"), c.Pos()
	if has("filter") {
		s.Filter = c.String("filter")
	}
	s.Optional = has("optional") && c.Bool("optional")
	if has("cpus") {
		if err := onCPUs(c, s); err != nil {
			return nil, err
		}
	}
	return &pipeline.Stream{S: s}, nil
}

const kernelArgs = "ip, func, and arg1 to arg6 (8 on arm64), the argument registers, of 64 bits: cast them, (int)arg1"

const namedArgs = "at the beginning of a function also its arguments by name and type (file, buf, count and pos " +
	"of vfs_read), if the kernel shows its types (/sys/kernel/btf), or the arguments that args declares"

func kprobe() *b.Builtin {
	return &b.Builtin{
		Name:    "kprobe",
		Group:   b.Sources,
		Summary: "Calls of a kernel function, or passes of an instruction in it.",
		Params: []b.Param{
			{Name: "func", Type: b.String, Required: true, Doc: "name, name+0x10, module:name, an address 0xffff..., or a pattern with * ? [a-z]"},
			argsParam, filterParam, limitParam, aliasParam, cpusParam, optionParam,
		},
		Returns: "stream",
		Result:  "one event for each hit; " + kernelArgs + "; " + namedArgs,
		Errors:  "no such function, with the nearest name; a kernel without kprobes; functions that the kernel protects; no permission",
		Source: "perf's kprobe PMU, since 4.17; programs use fentry and fexit where they can (since 5.17); " +
			"one link attaches a call and its return (since 6.10) or all functions of a pattern (since 5.18); CAP_PERFMON; nothing is left behind",
		Cost: "about 500 ns per hit for the traced program",
		Examples: []b.Example{
			{Code: `kprobe("do_sys_openat2", args = "int dfd, char *name")`, Output: "<stream kprobe:do_sys_openat2>"},
			{Code: `kprobe("vfs_read").by(size = "count").count()`, Output: "<table of size, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return probeSource(c, probe.Spec{Kind: probe.Kprobe, Name: c.String("func")})
		},
	}
}

func kretprobe() *b.Builtin {
	return &b.Builtin{
		Name:    "kretprobe",
		Group:   b.Sources,
		Summary: "Returns from a kernel function.",
		Params: []b.Param{
			{Name: "func", Type: b.String, Required: true, Doc: "name, module:name, or a pattern with * ? [a-z]"},
			retParam, filterParam, limitParam, aliasParam, cpusParam, optionParam,
		},
		Returns: "stream",
		Result:  "one event for each return; ip (the function), ret_ip (where it returns to), func, retval, ret2; result, by ret or by the type that the kernel shows",
		Errors: "as kprobe; an offset; returns are missed if more calls are active than the kernel has room for, except with fexit. " +
			"From 6.7 on they are counted as lost; before, a message at the end says how many calls can be active",
		Source: "perf's kprobe PMU, since 4.17; programs use fentry and fexit where they can (since 5.17); " +
			"one link attaches a call and its return (since 6.10) or all functions of a pattern (since 5.18); CAP_PERFMON; nothing is left behind",
		Cost: "about 1 us per call for the traced program",
		Examples: []b.Example{
			{Code: `kretprobe("do_sys_openat2", ret = "long", filter = "result < 0")`, Output: "<stream kretprobe:do_sys_openat2>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return probeSource(c, probe.Spec{Kind: probe.Kretprobe, Name: c.String("func")})
		},
	}
}

const userErrors = "no such file; no such function, with the nearest name; a stripped file; an offset inside an instruction; an address outside of code; too many matches; a source line without code, with the nearest that has some; a name that several source files have"

func uprobe() *b.Builtin {
	return &b.Builtin{
		Name:    "uprobe",
		Group:   b.Sources,
		Summary: "Calls of a function of a program or library, in all processes that use it.",
		Params: []b.Param{
			fileParam,
			{Name: "func", Type: b.String, Required: true, Doc: `name as in the source (C++, Rust, main.(*T).Method of Go) or of the symbol; of an indirect function (strlen) its implementations; name+0x10, a source line "file.c:123" (each place where its code begins), a pattern, an address as nm prints it "0x1040", or an offset in the file "+0x1040"`},
			argsParam, filterParam, pidParam, limitParam, aliasParam, cpusParam, optionParam,
		},
		Returns: "stream",
		Result: "one event for each hit; ip, func, arg1 to arg6 (8 on arm64; 9 and the goroutine g in Go programs): the argument registers. " +
			"Also the arguments that args declares, or the parameters of a function with debug information, " +
			"by name (if the pattern fits at most 20 functions): numbers, addresses, char * as text, enumerations with the names of their values, " +
			"strings and slices of Go and Rust as NAME and NAME_len, members of structures in registers as NAME_MEMBER; " +
			"not floating-point numbers and structures in memory (docs/symbols.md). Source lines have only ip and func. In Go programs on amd64, " +
			"ip of a named function is behind its check of the stack, so that a call which grows the stack counts once",
		Errors: userErrors,
		Source: "perf's uprobe PMU, since 4.17; for programs one link has a call and its return (since 6.13) or all that a pattern fits (since 6.10); CAP_SYS_ADMIN; nothing is left behind",
		Cost: "1 to 10 us per hit, for every program that calls the function. With -p and with a command, too, " +
			"all programs are probed and the events of others dropped, because new threads do not inherit probes. " +
			"Texts of args are read at the moment of the event if a program in the kernel sends it; otherwise later, and they are empty if the process has ended",
		Examples: []b.Example{
			{Code: `uprobe("libc", "fopen", args = "char *path, char *mode").by("path").count()`, Live: true},
			{Code: `uprobe("/bin/bash", "readline")`, Output: `<stream uprobe:readline@"/bin/bash">`},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return probeSource(c, probe.Spec{
				Kind: probe.Uprobe, File: c.String("file"), Name: c.String("func"),
			})
		},
	}
}

func uretprobe() *b.Builtin {
	return &b.Builtin{
		Name:    "uretprobe",
		Group:   b.Sources,
		Summary: "Returns from a function of a program or library.",
		Params: []b.Param{
			fileParam,
			{Name: "func", Type: b.String, Required: true, Doc: "name as in the source, or a pattern"},
			retParam, filterParam, pidParam, limitParam, aliasParam, cpusParam, optionParam,
		},
		Returns: "stream",
		Result: "one event for each return; ip (the function), ret_ip, func, retval, ret2; result, by ret or by debug information. " +
			"In Go programs ip is the return instruction, results are retval, ret2 to ret9, g is the goroutine: a key for joins; a panic passes no return, " +
			"and on arm64 a call that grows the stack enters twice",
		Errors: userErrors +
			"; a Go function without return instructions: the kernel's return probes would kill Go programs, so the instructions are probed",
		Source: "perf's uprobe PMU, since 4.17; for programs one link has a call and its return (since 6.13) or all that a pattern fits (since 6.10); CAP_SYS_ADMIN; nothing is left behind",
		Cost:   "2 to 20 us per call for the traced program",
		Examples: []b.Example{
			{Code: `uretprobe("/bin/bash", "readline", ret = "char *")`, Output: `<stream uretprobe:readline@"/bin/bash">`},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return probeSource(c, probe.Spec{
				Kind: probe.Uretprobe, File: c.String("file"), Name: c.String("func"),
			})
		},
	}
}

func usdt() *b.Builtin {
	return &b.Builtin{
		Name:    "usdt",
		Group:   b.Sources,
		Summary: "A probe that the programmer put into a program or library (USDT, DTRACE_PROBE).",
		Params: []b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: "provider:name, or name; * ? [a-z] name several"},
			{Name: "file", Type: b.String, Default: starlark.String(""), Doc: `path or name of the program or library; "" is the program of pid, or of -p`},
			argsParam, filterParam, pidParam, limitParam, aliasParam, cpusParam, optionParam,
		},
		Returns: "stream",
		Result:  "one event for each hit; ip, func, arg1, arg2, ... with the size and sign that the probe declares; the arguments that args declares",
		Errors:  "a file without probes; no such probe, with the nearest name; arguments that cannot be decoded are left out, with a note",
		Source:  "perf's uprobe PMU, since 4.17 (with a semaphore 4.20); amd64 and arm64; CAP_SYS_ADMIN; nothing is left behind",
		Cost: "1 to 10 us per hit for the traced program; " +
			"arguments in memory outside of the stack are read at the moment of the event if a program in the kernel sends or counts it, otherwise later",
		Examples: []b.Example{
			{Code: `usdt("libstdcxx:throw", "libstdc++").by("comm").count()`, Live: true},
			{Code: `usdt("python:gc__start", "python3.11")`, Output: `<stream usdt:python:gc__start@"python3.11">`},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return probeSource(c, probe.Spec{
				Kind: probe.USDT, File: c.String("file"), Name: c.String("name"),
			})
		},
	}
}

func breakpoint() *b.Builtin {
	return &b.Builtin{
		Name:    "breakpoint",
		Group:   b.Sources,
		Summary: "Accesses to a few bytes of memory, or executions of an instruction, which the CPU detects.",
		Params: []b.Param{
			{Name: "addr", Type: b.Or(b.String, b.Int), Required: true, Doc: `an address, a kernel symbol, a variable of the process ("total", "table+0x10"), or ADDR/LEN:TYPE`},
			{Name: "len", Type: b.Int, Unit: "bytes", Doc: "1, 2, 4 or 8; else 1; the address must be a multiple"},
			{Name: "type", Type: b.String, Doc: "w, rw, x (execution), r (not on x86); else w"},
			pidParam, filterParam, aliasParam, cpusParam, optionParam,
			{Name: "exclude_user", Type: b.Bool, Named: true, Default: starlark.False, Doc: "not accesses by programs"},
			{Name: "exclude_kernel", Type: b.Bool, Named: true, Default: starlark.False, Doc: "not accesses by the kernel, for a program or to load it"},
		},
		Returns: "stream",
		Result: "one event for each access; addr, ip (behind the access, at it for x), the registers (rax ..., x0 ...), regs: all of them as a text; " +
			"data: the value after a write, from the instruction and its registers where it is a plain store, else read from memory a moment later",
		Errors: "no such symbol; an unaligned address; a length or type that the CPU does not have; no free slot: CPUs have four",
		Source: "perf_event_open, any kernel; CAP_PERFMON",
		Cost:   "about 1 us per hit for the traced program; nothing otherwise",
		Examples: []b.Example{
			{Code: `breakpoint(0x404040, 8, "w")`, Output: "<stream breakpoint:0x404040/8:w>"},
			{Code: `breakpoint("jiffies", len = 8).log()`, Live: true},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			spec, err := breakpointSpec(c)
			if err != nil {
				return nil, err
			}
			v, err := probeSource(c, spec)
			if err == nil {
				s := v.(*pipeline.Stream).S.(*plan.Source)
				s.Exclude.User, s.Exclude.Kernel = c.Bool("exclude_user"), c.Bool("exclude_kernel")
				s.Exclude.Hypervisor = s.Exclude.Kernel
			}
			return v, err
		},
	}
}

func breakpointSpec(c *b.Call) (probe.Spec, error) {
	var spec probe.Spec
	switch v := c.Value("addr").(type) {
	case starlark.Int:
		addr, ok := v.Uint64()
		if !ok {
			return spec, c.Errorf("addr", "got %s, want an address of 64 bits", v)
		}
		spec = probe.Spec{Kind: probe.Breakpoint, Name: hex(addr)}
	case starlark.String:
		var err error
		if spec, err = probe.ParseBreakpoint(string(v)); err != nil {
			return spec, c.Error("addr", err, diag.HintOf(err))
		}
	}
	if c.Has("len") {
		spec.Len = int(c.Int("len"))
		if spec.Len < 1 {
			return spec, c.Errorf("len", "got %d, want 1, 2, 4 or 8", spec.Len)
		}
	}
	if c.Has("type") {
		spec.Access = c.String("type")
	}
	return spec, nil
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
