package native

import (
	"errors"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/text/diag"
)

// MemorySource, MemoryCost and MemoryErrors are the lines of the reference for all functions that
// read the kernel's memory.
const (
	MemorySource = "the types that the kernel shows (/sys/kernel/btf, CONFIG_DEBUG_INFO_BTF), and bpf_probe_read_kernel in a program; Linux 5.10, root or CAP_BPF and CAP_PERFMON"
	MemoryCost   = "20 ns of the observed thread, and 5 to 10 ns for each pointer that is followed; 50 ms once for the types"
	MemoryErrors = "a member that a structure does not have, with the nearest name; under --engine perf, in recordings and in functions that stay interpreted. An event at which an address is bad is left out and counted as an error"
	memoryResult = "write a member after a dot, also through pointers, and an element in brackets. Its value is a number (of a pointer its address), or for char a text of at most 127 bytes; bit fields are numbers"
)

// MemoryAddress is the parameter of functions that read from an address.
var MemoryAddress = Param{
	Name: "address", Kind: Address,
	Doc: "a field of the event, a pointer in the kernel's memory, or a structure there",
}

// inMemory makes a function whose result is a place in the kernel's memory. The types of the
// running kernel have the offsets; programs of the kernel read.
func inMemory(f Function) *Function {
	f.Returns, f.Result = Place, memoryResult
	f.Errors, f.Source, f.Cost = MemoryErrors, MemorySource, MemoryCost
	return &f
}

// memory are the functions whose result is a place in the kernel's memory. Types and members are
// given as texts, so that both languages have the same form.
var memory = []*Function{
	inMemory(Function{
		Name: "task", C: []string{"task()"},
		Summary: "The running task: its struct task_struct in the kernel's memory.",
		Examples: []Example{
			{`tracepoint("sched:sched_process_exec").by(parent = lambda e: task().real_parent.comm).count()`, "<table of parent, count>"},
			{`tracepoint("sched:sched_process_exit").by(peak_pages = lambda e: task().mm.hiwater_rss).count()`, "<table of peak_pages, count>"},
		},
		Memory: func(k *MemoryCall) (*expr.KernelData, error) { return k.Kernel.Task() },
	}),
	inMemory(Function{
		Name: "cgroup", C: []string{"cgroup()"},
		Summary: "The cgroup of the running task, of version 2: its struct cgroup in the kernel's memory.",
		Examples: []Example{
			{`tracepoint("sched:sched_process_exec").by(group = lambda e: cgroup().kn.name).count()`, "<table of group, count>"},
		},
		Memory: func(k *MemoryCall) (*expr.KernelData, error) { return k.Kernel.Cgroup() },
	}),
	inMemory(Function{
		Name: "per_cpu", C: []string{`per_cpu("runqueues", cpu)`},
		Summary: "A variable that the kernel has once for each CPU: of the running CPU, or of another one.",
		Params: []Param{
			{Name: "name", Kind: Name, Doc: "its name, a constant; kernels before 6.1 may not show them"},
			{Name: "cpu", Kind: Address, Optional: true, Doc: "number of the CPU, Linux 5.19; by default the running one. A number that no CPU has is a bad address"},
		},
		Examples: []Example{
			{`tracepoint("sched:sched_switch").by(queued = lambda e: per_cpu("runqueues").nr_running).count()`, "<table of queued, count>"},
			{`tracepoint("sched:sched_migrate_task").by(queued_there = lambda e: per_cpu("runqueues", e.dest_cpu).nr_running).count()`, "<table of queued_there, count>"},
		},
		Memory: func(k *MemoryCall) (*expr.KernelData, error) {
			if len(k.Texts) != 1 {
				return nil, errors.New(
					"want the name of a variable, as a constant, and a CPU's number or none")
			}
			return k.Kernel.PerCPU(k.Texts[0], k.Addr)
		},
	}),
	inMemory(Function{
		Name: "trace_arg", C: []string{`trace_arg("prev")`},
		Summary: "An argument with which the kernel calls the tracepoint of the event.",
		Params: []Param{
			{Name: "name", Kind: Name, Doc: "its name in the kernel's source, a constant; -e EVENT help lists them"},
		},
		Examples: []Example{
			{`tracepoint("sched:sched_switch").by(mm = lambda e: trace_arg("next").mm == 0).count()`, "<table of mm, count>"},
			{`tracepoint("sched:sched_process_exec").by("filename", script = lambda e: trace_arg("bprm").interp).count()`, "<table of filename, script, count>"},
		},
		Memory: func(k *MemoryCall) (*expr.KernelData, error) {
			if k.Addr != nil || len(k.Texts) != 1 {
				return nil, errors.New("want the name of an argument, as a constant")
			}
			return k.Kernel.Argument(k.Schema, k.Texts[0])
		},
	}),
	inMemory(Function{
		Name: "cast", C: []string{`cast(address, "struct request")`},
		Summary: "An address as a pointer to a type of the kernel.",
		Params: []Param{MemoryAddress,
			{Name: "type", Kind: Name, Doc: `a constant, as in C: "struct sock", "u32"`}},
		Examples: []Example{
			{`tracepoint("sock:inet_sock_set_state").by(family = lambda e: cast(e.skaddr, "struct sock").__sk_common.skc_family).count()`, "<table of family, count>"},
		},
		Memory: func(k *MemoryCall) (*expr.KernelData, error) {
			if k.Addr == nil || len(k.Texts) != 1 {
				return nil, errors.New("want an address, and the name of a type as a constant")
			}
			return k.Kernel.Cast(k.Addr, k.Texts[0], k.path("cast"))
		},
	}),
	pathFunction(),
	inMemory(Function{
		Name: "container_of", C: []string{`container_of(address, "struct task_struct", "se")`},
		Summary: "The structure whose member an address points to.",
		Params: []Param{MemoryAddress,
			{Name: "type", Kind: Name, Doc: `the structure, a constant: "struct task_struct"`},
			{Name: "member", Kind: Name, Doc: `its member, a constant: "se"`}},
		Examples: []Example{
			{`tracepoint("sched:sched_process_exec").by(tid = lambda e: container_of(task().se, "struct task_struct", "se").pid).count()`, "<table of tid, count>"},
		},
		Memory: func(k *MemoryCall) (*expr.KernelData, error) {
			if k.Addr == nil || len(k.Texts) != 2 {
				return nil, errors.New(
					"want an address, and constants: the names of a structure and its member")
			}
			return k.Kernel.Container(k.Addr, k.Texts[0], k.Texts[1], k.path("container_of"))
		},
	}),
}

// path is the text of the call, or its first name.
func (k *MemoryCall) path(name string) string {
	if k.Path != "" {
		return k.Path
	}
	return name + "(" + k.Texts[0] + ")"
}

// pathFunction is the function that makes the path of a file.
func pathFunction() *Function {
	return &Function{
		Name: "path", C: []string{"path(fd)"},
		Summary: "The path of a file: of a descriptor of the running process, or of a structure of the kernel that leads to a file.",
		Params:  []Param{{Name: "file", Kind: Typed, Doc: expr.PathFrom}},
		Returns: Place,
		Result: "text: the path in the mount namespace of the file, as /proc/PID/fd shows it; of more than 255 bytes or 32 directories the end, behind .... " +
			"Of a dentry, inode, folio or page, which belong to no mount, the path inside the file system. " +
			"Of files that have no path the file system and the name: pipefs:, sockfs:, anon_inodefs:[eventfd]",
		Errors: "a value that leads to no file; under --engine perf, in recordings and in functions that stay interpreted. An event whose descriptor is not open, or whose page belongs to no file, is left out and counted as an error",
		Source: MemorySource,
		Cost:   "1 us of the observed thread, and 0.15 us for each directory",
		Examples: []Example{
			{`tracepoint("syscalls:sys_enter_write").by(file = "path(fd)").count()`, "<table of file, count>"},
			{`tracepoint("filemap:mm_filemap_add_to_page_cache").by(file = lambda e: path(trace_arg("folio"))).count()`, "<table of file, count>"},
			{`kprobe("vfs_read").by(file = lambda e: path(e.file)).agg(bytes = agg.sum("count"))`, "<table of file, bytes>"},
		},
		Memory: func(k *MemoryCall) (*expr.KernelData, error) {
			switch {
			case k.Data != nil:
				return k.Kernel.PathOf(k.Data)
			case k.Addr == nil || len(k.Texts) > 0:
				return nil, errors.New("want " + expr.PathFrom)
			}
			name := k.Path
			if f, ok := k.Addr.(*expr.Field); ok {
				name = f.F.Name
				if strings.Contains(f.F.Type, "*") || f.F.Unit == event.AddressU {
					return nil, diag.Errorf(diag.Run, "path", name, "it is an address of an unknown type").
						WithHint(`name the type: path(cast(%s, "struct file"))`, name)
				}
			}
			return k.Kernel.PathOfDescriptor(k.Addr, name)
		},
	}
}
