package host

import (
	"errors"

	b "ppscript/builtins"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/frontend"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// The functions of this file lead into the kernel's memory. The types of the
// running kernel say what lies where; programs read.

const (
	memorySource = "the types that the kernel shows (/sys/kernel/btf, CONFIG_DEBUG_INFO_BTF), and bpf_probe_read_kernel in a program; Linux 5.10, root or CAP_BPF and CAP_PERFMON"
	memoryCost   = "20 ns of the observed thread, and 5 to 10 ns for each pointer that is followed; 50 ms once for the types"
	memoryErrors = "a member that a structure does not have, with the nearest name; under --engine perf, in recordings and in functions that stay interpreted. An event at which an address is bad is left out and counted as an error"
	memoryResult = "members follow with a dot, also through pointers, and elements in brackets: a number (a pointer is its address), or a text, of at most 127 bytes, where it is char; bit fields are numbers"
)

func task() *b.Builtin {
	return inMemory(&b.Builtin{
		Name: "task", Summary: "The running task: its struct task_struct in the kernel's memory.",
		Examples: []b.Example{
			{Code: `tracepoint("sched:sched_process_exec").by(parent = lambda e: task().real_parent.comm).count()`, Output: "<table of parent, count>"},
			{Code: `tracepoint("sched:sched_process_exit").by(peak_pages = lambda e: task().mm.hiwater_rss).count()`, Output: "<table of peak_pages, count>"},
		},
	}, func(c *frontend.KernelCall) (*expr.KernelData, error) {
		return c.Kernel.Task()
	})
}

func cgroup() *b.Builtin {
	return inMemory(&b.Builtin{
		Name: "cgroup", Summary: "The cgroup of the running task, of version 2: its struct cgroup in the kernel's memory.",
		Examples: []b.Example{
			{Code: `tracepoint("sched:sched_process_exec").by(group = lambda e: cgroup().kn.name).count()`, Output: "<table of group, count>"},
		},
	}, func(c *frontend.KernelCall) (*expr.KernelData, error) {
		return c.Kernel.Cgroup()
	})
}

func perCPU() *b.Builtin {
	return inMemory(&b.Builtin{
		Name: "per_cpu", Summary: "A variable of the kernel that each CPU has: that of the running CPU, or of another one.",
		Params: []b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: "its name, a constant; kernels before 6.1 may not show them"},
			{Name: "cpu", Type: b.As(address, "int"), Doc: "whose; the running CPU's without. Linux 5.19. A number that no CPU has is a bad address"},
		},
		Examples: []b.Example{
			{Code: `tracepoint("sched:sched_switch").by(queued = lambda e: per_cpu("runqueues").nr_running).count()`, Output: "<table of queued, count>"},
			{Code: `tracepoint("sched:sched_migrate_task").by(queued_there = lambda e: per_cpu("runqueues", e.dest_cpu).nr_running).count()`, Output: "<table of queued_there, count>"},
		},
	}, func(c *frontend.KernelCall) (*expr.KernelData, error) {
		if len(c.Texts) != 1 {
			return nil, errors.New("want the name of a variable, as a constant, and a CPU's number or none")
		}
		return c.Kernel.PerCPU(c.Texts[0], c.Addr)
	})
}

func traceArg() *b.Builtin {
	return inMemory(&b.Builtin{
		Name: "trace_arg", Summary: "An argument with which the kernel calls the tracepoint of the event.",
		Params: []b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: "its name in the kernel's source, a constant; -e EVENT help lists them"},
		},
		Examples: []b.Example{
			{Code: `tracepoint("sched:sched_switch").by(mm = lambda e: trace_arg("next").mm == 0).count()`, Output: "<table of mm, count>"},
		},
	}, func(c *frontend.KernelCall) (*expr.KernelData, error) {
		if c.Addr != nil || len(c.Texts) != 1 {
			return nil, errors.New("want the name of an argument, as a constant")
		}
		return c.Kernel.Argument(c.Schema, c.Texts[0])
	})
}

// memoryAddress is the parameter of functions that begin at an address.
var memoryAddress = b.Param{
	Name: "address", Type: b.As(address, "int"), Required: true,
	Doc: "a field of the event, a pointer in the kernel's memory, or a structure there",
}

func cast() *b.Builtin {
	return inMemory(&b.Builtin{
		Name: "cast", Summary: "An address as a pointer to a type of the kernel.",
		Params: []b.Param{memoryAddress,
			{Name: "type", Type: b.String, Required: true, Doc: `a constant, as in C: "struct sock", "u32"`}},
		Examples: []b.Example{
			{Code: `tracepoint("sock:inet_sock_set_state").by(family = lambda e: cast(e.skaddr, "struct sock").__sk_common.skc_family).count()`, Output: "<table of family, count>"},
		},
	}, func(c *frontend.KernelCall) (*expr.KernelData, error) {
		if c.Addr == nil || len(c.Texts) != 1 {
			return nil, errors.New("want an address, and the name of a type as a constant")
		}
		return c.Kernel.Cast(c.Addr, c.Texts[0], "cast("+c.Texts[0]+")")
	})
}

func containerOf() *b.Builtin {
	return inMemory(&b.Builtin{
		Name: "container_of", Summary: "The structure whose member an address points to.",
		Params: []b.Param{memoryAddress,
			{Name: "type", Type: b.String, Required: true, Doc: `the structure, a constant: "struct task_struct"`},
			{Name: "member", Type: b.String, Required: true, Doc: `its member, a constant: "se"`}},
		Examples: []b.Example{
			{Code: `tracepoint("sched:sched_process_exec").by(tid = lambda e: container_of(task().se, "struct task_struct", "se").pid).count()`, Output: "<table of tid, count>"},
		},
	}, func(c *frontend.KernelCall) (*expr.KernelData, error) {
		if c.Addr == nil || len(c.Texts) != 2 {
			return nil, errors.New("want an address, and constants: the names of a structure and its member")
		}
		return c.Kernel.Container(c.Addr, c.Texts[0], c.Texts[1], "container_of("+c.Texts[0]+")")
	})
}

// inMemory completes the declaration of a function that leads into the kernel's
// memory. Only functions that are compiled can call it.
func inMemory(f *b.Builtin, data frontend.KernelData) *b.Builtin {
	f.Group, f.Returns, f.Result = b.Hosted, "a place in the kernel's memory", memoryResult
	f.Errors, f.Source, f.Cost = memoryErrors, memorySource, memoryCost
	f.Native = &frontend.Native{Data: data}
	f.Impl = func(*b.Call) (starlark.Value, error) { return nil, onlyPrograms(f.Name) }
	return f
}

// onlyPrograms is the error of the interpreter.
func onlyPrograms(name string) error {
	return diag.Errorf(diag.Run, name, "", "only a function of the event that is compiled can ask for it").
		WithHint("name it with let() before a function that stays interpreted: .let(parent = \"task()->real_parent->comm\")")
}

func kernelString() *b.Builtin {
	return &b.Builtin{
		Name: "kernel_string", Group: b.Hosted, Summary: "The text at an address of the kernel.",
		Params:  []b.Param{memoryAddress},
		Returns: "string",
		Result:  "the bytes up to the NUL, as they were when the event happened: of more than 127 the first 124 and ...",
		Errors:  memoryErrors, Source: memorySource, Cost: memoryCost,
		Examples: []b.Example{
			{Code: `tracepoint("sched:sched_process_exec").by(dir = lambda e: kernel_string(task().fs.pwd.dentry.d_name.name)).count()`, Output: "<table of dir, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if text, ok := c.Value("address").(starlark.String); ok {
				return text, nil
			}
			return nil, onlyPrograms("kernel_string")
		},
		Native: &frontend.Native{
			Returns: frontend.TextKind,
			Compile: func(c *frontend.NativeCall) (v frontend.NativeValue, ok bool) {
				switch k := c.Services().Kernel; {
				case c.Len() == 1 && c.Text(0):
					return c.Arg(0)
				case c.Len() != 1 || !c.Int(0) || k == nil:
					return v, false
				default:
					return c.Of(k.TextAt(c.Node(0), "kernel_string()"))
				}
			},
		},
	}
}

func enumerator() *b.Builtin {
	return &b.Builtin{
		Name: "enumerator", Group: b.Hosted, Summary: "The value of an enumerator of the kernel.",
		Params: []b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: `its name, such as "PIDTYPE_TGID"`},
		},
		Returns: "int",
		Result:  "its value in the running kernel. In C expressions the name itself is that",
		Errors:  "the kernel has no such enumerator: macros are not among its types",
		Source:  "the types that the kernel shows (/sys/kernel/btf, CONFIG_DEBUG_INFO_BTF)",
		Cost:    "0.3 s once, when the script starts",
		Examples: []b.Example{
			{Code: `enumerator("PIDTYPE_TGID")`, Output: "1"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			types := kerneltype.Running()
			if s := frontend.ServicesOf(c.Thread); s != nil && s.Kernel != nil {
				types = s.Kernel.Types
			}
			n, err := types.Enumerator(c.String("name"))
			if err != nil {
				return nil, err
			}
			return starlark.MakeInt64(n), nil
		},
		Native: numberOfName(),
	}
}
