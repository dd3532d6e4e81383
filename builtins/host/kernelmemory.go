package host

import (
	"fmt"

	b "ppscript/builtins"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/native"
	"ppscript/runtime/script/frontend"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// onlyPrograms makes the error for a function that only programs in the kernel
// can compute.
func onlyPrograms(name string) error {
	return diag.Errorf(diag.Run, name, "", "only a function of the event that is compiled can ask for it").
		WithHint("name it with let() before a function that stays interpreted: .let(parent = \"task()->real_parent->comm\")")
}

func kernelString() *b.Builtin {
	return &b.Builtin{
		Name: "kernel_string", Group: b.Hosted, Summary: "The text at an address of the kernel.",
		Params:  []b.Param{paramOf(native.MemoryAddress)},
		Returns: "string",
		Result:  "the bytes up to the NUL, as they were when the event happened: of more than 127 the first 124 and ...",
		Errors:  native.MemoryErrors, Source: native.MemorySource, Cost: native.MemoryCost,
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

func commandLine() *b.Builtin {
	return &b.Builtin{
		Name: "command_line", Group: b.Hosted,
		Summary: "The arguments with which the running program was started, with blanks between them.",
		Returns: "string",
		Result:  "as they are in the memory of the process when the event happens: of more than 255 bytes the first 252 and ...",
		Errors:  "under --engine perf, in recordings and in functions that stay interpreted. An event of a thread of the kernel, which has none, is left out and counted as an error",
		Source:  native.MemorySource + "; bpf_probe_read_user", Cost: "0.3 us of the observed thread",
		Examples: []b.Example{
			{Code: `tracepoint("sched:sched_process_exec").by(command = lambda e: command_line()).count()`, Output: "<table of command, count>"},
		},
		Impl: func(*b.Call) (starlark.Value, error) { return nil, onlyPrograms("command_line") },
		Native: &frontend.Native{
			Returns: frontend.TextKind,
			Compile: func(c *frontend.NativeCall) (v frontend.NativeValue, ok bool) {
				k := c.Services().Kernel
				if c.Len() != 0 || k == nil {
					return v, false
				}
				return c.Of(k.CommandLine())
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
		Result:  "its value in the running kernel. In C expressions, write the name itself",
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

func listEntries() *b.Builtin {
	return &b.Builtin{
		Name: "list_entries", Group: b.Hosted,
		Summary: "The first entries of a list of the kernel, for a loop in a function of the event.",
		Params: []b.Param{
			{Name: "head", Type: b.Is("a place in the kernel's memory"), Required: true, Doc: "the head of the list, a struct list_head"},
			{Name: "type", Type: b.String, Required: true, Doc: `a constant, the structure of an entry: "struct task_struct"`},
			{Name: "member", Type: b.String, Required: true, Doc: `a constant, its member that links the entries: "sibling"`},
			{Name: "most", Type: b.Int, Required: true, Doc: fmt.Sprintf("a constant up to %d, how many entries the loop visits; what comes later is left out", expr.MostEntries)},
		},
		Returns: "places in the kernel's memory",
		Result:  "pointers to the structures, whose members follow with a dot; fewer if the list is shorter",
		Errors:  native.MemoryErrors + "; a call outside of for ... in",
		Source:  native.MemorySource,
		Cost:    "the loop is unrolled, and entry n is found by n reads of 10 ns each",
		Examples: []b.Example{
			{Code: `def children(e):
    n = 0
    for t in list_entries(task().children, "struct task_struct", "sibling", 8):
        n += 1
    return n
tracepoint("sched:sched_process_exec").by(children = children).count()`, Output: "<table of children, count>"},
		},
		Impl: func(*b.Call) (starlark.Value, error) { return nil, onlyPrograms("list_entries") },
		Native: &frontend.Native{
			List: func(k *expr.Kernel, head *expr.KernelData, of []string, n int) (*expr.KernelList, error) {
				return k.ListOf(head, of[0], of[1], n)
			},
		},
	}
}
