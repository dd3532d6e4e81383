package engines

// Options about stacks, for scripts that take none by default.
const callchains = " --user-callchain=fp --no-user-callchain --kernel-callchain --no-kernel-callchain --max-stack=10"

// withStacks makes lines show stacks.
const withStacks = " -g --user-callchain=fp --kernel-callchain --max-stack=10"

const (
	enter = "--events=raw_syscalls:sys_enter"
	exit  = "--events=raw_syscalls:sys_exit"
	calls = enter + " " + exit + " --key=_tid"
	both  = enter + ",raw_syscalls:sys_exit"
	heat  = " --heatmap={dir}/{engine}"
)

// own selects the rows of the scene's threads.
var own = map[string]string{"comm": "{name}-*"}

// Comparisons lists every script that fits into the kernel, with each option with
// which it fits. Logs of switches are not in the list: each engine leaves out the
// switches of its own threads, which the other engine shows.
var Comparisons = []Comparison{
	{Script: "blktrace", Args: "--device={disk}", Scene: "disk", Interrupts: true},
	{Script: "blktrace", Args: "--device={disk} --than=1ns", Scene: "disk", Interrupts: true},

	{Script: "bpf_kvm_exit", Args: "--threshold=0 --perins --detail --filter=exit_reason!=0x64", Scene: "kvm", ByThread: true},
	{Script: "bpf_kvm_exit", Args: "--threshold=0 --perins --detail --filter=exit_reason!=0x64", Scene: "kvm"},
	{Script: "bpf_kvm_exit", Args: "--threshold=0 --filter=exit_reason!=0x64", Scene: "kvm", ByThread: true},
	{Script: "bpf_kvm_exit", Args: "--threshold=0 --than=1us", Scene: "kvm", ByThread: true, Kernel: "6.18"},
	{Script: "bpf_kvm_exit", Args: "--threshold=0 --than=1us --output2={dir}/{engine}", Scene: "kvm", Kernel: "6.18"},
	{Script: "bpf_kvm_exit", Args: "--threshold=0 --rundelay", Scene: "kvm", ByThread: true},
	{Script: "bpf_kvm_exit", Args: "--threshold=0 --output2={dir}/{engine}", Scene: "kvm", ByThread: true},

	{Script: "funccount", Args: "--sampled --perins --events=sched:sched_switch,raw_syscalls:sys_*", Scene: "own", ByThread: true},

	{Script: "hrcount", Args: both + " --period=1s --interval=60s --perins", Scene: "own", ByThread: true, Ignore: []string{"slot"}},

	{Script: "kmemleak", Args: "--alloc=kmem:kmalloc//size=bytes_alloc/ --free=kmem:kfree --comm --than=1ns --top=5" + callchains, Scene: "own", ByThread: true, Interrupts: true},
	{Script: "kmemleak", Args: "--call=raw_syscalls:sys_enter//size=id/ --alloc=raw_syscalls:sys_exit//ptr=_tid/ --free=sched:sched_switch//ptr=prev_pid/", Scene: "own", ByThread: true},

	{Script: "kvm_exit", Args: "--perins --filter=exit_reason!=0x64", Scene: "kvm"},
	{Script: "kvm_exit", Args: heat, Scene: "kvm"},
	{Script: "kvm_exit", Args: "--than=1us", Scene: "kvm", Kernel: "6.18"},
	{Script: "kvmmmu", Args: "--spte --mmio", Scene: "kvmmmu"},
	{Script: "kvmmmu", Args: "--detail --spte --mmio", Scene: "kvmmmu"},

	{Script: "multi_trace", Args: calls + " --impl=delay --perins", Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: calls + " --cycle" + callchains, Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: calls + " --impl=syscalls", Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: calls + " --impl=pair", Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: calls + withStacks, Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: calls + " --than=1ns --perins", Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: calls + " --lower=1s", Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: calls + " --than=1ns --detail=samekey", Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: enter + "//key=_tid/ " + exit + "//key=_tid/,sched:sched_switch//untraced/ --lower=1s --detail=sametid,1", Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: calls + " --only-than=1us", Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: calls + heat, Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: "--events=sched:sched_wakeup//key=pid/ --events=sched:sched_switch//key=next_pid/", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "multi_trace", Args: "--events=sched:sched_waking//key=pid/ --events=sched:sched_wakeup//key=pid/ --events=sched:sched_switch//key=next_pid/ --cycle", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "multi_trace", Args: enter + " " + exit + ",sched:sched_switch//untraced/ --key=_tid --impl=pair", Scene: "own", ByThread: true},

	{Script: "multi_trace", Args: "--events=sched:sched_process_exec//key=pid/ --events=sched:sched_process_exit//key=pid/ --than=1ns --detail=samekey --inherit", Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: enter + " " + exit + ",sched:sched_process_exec//untraced/ --key=_tid --than=1ns --detail=sametid --inherit", Scene: "own", ByThread: true},
	{Script: "multi_trace", Args: calls + " --than=1ns --detail=samekey" + withStacks, Scene: "own", ByThread: true},

	{Script: "nested_trace", Args: both + " --key=_tid", Scene: "own", ByThread: true},
	{Script: "nested_trace", Args: both + " --key=_tid --impl=call-delay" + heat, Scene: "own", ByThread: true},
	{Script: "nested_trace", Args: both + " --key=_tid --impl=call --detail=samecpu", Scene: "own", ByThread: true},
	{Script: "nested_trace", Args: both + " --key=_tid --impl=delay --perins --no-kernel-callchain", Scene: "own", ByThread: true},
	{Script: "nested_trace", Args: both + " --key=_tid --impl=call-delay --than=1ns", Scene: "own", ByThread: true},
	{Script: "nested_trace", Args: both + " --key=_tid --impl=call-delay" + withStacks + " --no-user-callchain", Scene: "own", ByThread: true},

	{Script: "num_dist", Args: exit + "//num=ret/ --perins -g --user-callchain=fp --no-user-callchain --kernel-callchain --max-stack=10", Scene: "own", ByThread: true},
	{Script: "num_dist", Args: exit + "//num=ret/ --no-kernel-callchain", Scene: "own", ByThread: true},
	{Script: "num_dist", Args: exit + "//num=ret/" + heat, Scene: "own", ByThread: true},
	{Script: "num_dist", Args: exit + "//num=ret/ --than=1", Scene: "own", ByThread: true},

	{Script: "oncpu", Args: "--per-cpu --detail --smt=0,1 --interval=60s", Scene: "own", ByThread: true},
	{Script: "oncpu", Args: "--only-comm --interval=60s", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "oncpu", Args: "--only-comm --prio=0-139 --interval=60s", Scene: "own", Mine: own},
	{Script: "oncpu", Args: "--filter=next_prio>=0 --interval=60s", Scene: "own", Mine: own},

	{Script: "page_faults", Args: "--by-comm --event=minor-faults --exclude-kernel --exclude-guest", Scene: "own", ByThread: true},
	{Script: "page_faults", Args: "--top=100000 -g --event=page-faults --user-callchain=fp --kernel-callchain --no-kernel-callchain --max-stack=10", Scene: "own", ByThread: true, Alone: true},
	{Script: "page_faults", Args: "--top=100000 --no-user-callchain --exclude-user --exclude-host", Scene: "own", ByThread: true, Alone: true},
	{Script: "page_faults", Args: "--top=100000 --regs", Scene: "own", ByThread: true, Alone: true},

	{Script: "profile", Args: "--top=100000 --event=cpu-clock --freq=499 -g --user-callchain=fp --no-kernel-callchain --max-stack=20 --exclude-kernel --exclude-guest --exclude-pid=1", Scene: "spin", ByThread: true, Sampled: true},
	{Script: "profile", Args: "--top=100000 --event=cpu-clock --freq=499 --no-user-callchain --kernel-callchain --exclude-user --exclude-host", Scene: "spin", ByThread: true, Sampled: true},

	{Script: "rundelay", Args: "--perins" + withStacks, Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "rundelay", Args: "--filter={name}-* --key=_tid" + callchains, Scene: "own", Wakes: true, Interrupts: true},
	{Script: "rundelay", Args: "--than=50us", Scene: "own", ByThread: true, Wakes: true, Interrupts: true, Ignore: []string{"than"}},
	{Script: "rundelay", Args: "--than=1ns --detail --filter={name}-*", Scene: "own", Wakes: true, Interrupts: true, Mine: own},
	{Script: "rundelay", Args: heat, Scene: "own", ByThread: true, Wakes: true, Interrupts: true},

	{Script: "sched_latency", Args: "", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "sched_map", Args: "--comms --only={name}-* --interval=60s", Scene: "own", Mine: own, Ignore: []string{"time"}},
	{Script: "sched_migrate", Args: `--table --filter=comm~"{name}-*"` + callchains, Scene: "move"},
	{Script: "sched_migrate", Args: `--filter=comm~"{name}-*"` + callchains, Scene: "move"},
	{Script: "sched_timehist", Args: "--summary --filter={name}-*", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "sched_timehist", Args: "--with-summary --state=SD --than=1ns --filter={name}-*", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},

	{Script: "signal", Args: "--filter=sig>0" + callchains, Scene: "own", ByThread: true},

	// Only programs can read the texts of a system call.
	{Script: "syscall_trace", Args: "--failed", Scene: "own", ByThread: true, Ignore: []string{"call"}},
	{Script: "syscall_trace", Args: "--calls=getppid,futex", Scene: "own", ByThread: true, Ignore: []string{"call"}},
	{Script: "syscall_trace", Args: "--than=1ns", Scene: "own", ByThread: true, Ignore: []string{"call"}},
	{Script: "syscalls", Args: "-g --no-user-callchain", Scene: "own", ByThread: true},
	{Script: "syscalls", Args: "--than=1ns", Scene: "own", ByThread: true},
	{Script: "syscalls", Args: "--than=1ms --perins", Scene: "own", ByThread: true},
	{Script: "syscalls", Args: "--than=1ns --detail", Scene: "own", ByThread: true},
	{Script: "syscalls", Args: "--than=1ns --detail=samecpu", Scene: "own", ByThread: true},
	{Script: "syscalls", Args: "--than=1ns --detail=samepid,-1ms,+1ms", Scene: "own", ByThread: true},
	{Script: "syscalls", Args: "--key=_tid --no-kernel-callchain", Scene: "own", ByThread: true},
	{Script: "syscalls", Args: "--perins" + withStacks, Scene: "own", ByThread: true},
	{Script: "syscalls", Args: heat, Scene: "own", ByThread: true},

	{Script: "task_state", Args: "--perins --filter={name}-*" + callchains, Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "task_state", Args: "--interruptible --uninterruptible", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "task_state", Args: "--than=1us --interruptible -g", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "task_state", Args: "--than=1us --interruptible", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "task_state", Args: "--no-interruptible -g", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "task_state", Args: "--than=1ns --filter={name}-*", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},

	{Script: "top", Args: enter + "//key=id/ --interval=60s --key=_tid", Scene: "own", ByThread: true},
	{Script: "top", Args: enter + "//key=id/comm=_comm/ --only-comm --interval=60s", Scene: "own", ByThread: true},
	{Script: "top", Args: enter + "//key=id/comm=_comm/ --interval=60s --key=_tid", Scene: "own", ByThread: true},

	{Script: "scripts/block/biolatency.star", Args: "--by=none --filter=dev=={dev}", Scene: "disk", Interrupts: true},
	{Script: "scripts/block/biolatency.star", Args: "--by=disk --filter=dev=={dev}", Scene: "disk", Interrupts: true},
	{Script: "scripts/block/biolatency.star", Args: "--by=kind --filter=dev=={dev}", Scene: "disk", Interrupts: true},
	{Script: "scripts/block/biolatency.star", Args: "--disks --disk={disk}", Scene: "disk", Interrupts: true},
	{Script: "scripts/block/biolatency.star", Args: "--flags --disk={disk}", Scene: "disk", Interrupts: true},
	{Script: "scripts/block/biosnoop.star", Args: "--table --than=1ns --filter=dev=={dev}", Scene: "disk", Interrupts: true},
	{Script: "scripts/block/bitesize.star", Args: "--rows=1000 --filter=dev=={dev}", Scene: "disk"},
	{Script: "scripts/block/bitesize.star", Args: "--rows=1000 --disk={disk}", Scene: "disk"},
	{Script: "scripts/block/biodepth.star", Args: "--filter=dev=={dev}", Scene: "disk", Interrupts: true},
	{Script: "scripts/block/biopattern.star", Args: "--filter=dev=={dev}", Scene: "disk", Interrupts: true},
	{Script: "scripts/block/biopattern.star", Args: "--disk={disk}", Scene: "disk", Interrupts: true},
	{Script: "scripts/block/ext4slower.star", Args: "--table --than=1ns", Scene: "ext4", ByThread: true},
	{Script: "scripts/cpu/execsnoop.star", Args: "--table --file=*/true --inherit", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/funclatency.star", Args: "libc __cxa_atexit --inherit --by=none", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/funclatency.star", Args: "libc __cxa_atexit --inherit --by=comm", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/funclatency.star", Args: "libc __cxa_atexit --inherit --by=tid", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/killsnoop.star", Args: "--table", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/killsnoop.star", Args: "--table --deadly", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/killsnoop.star", Args: "--table --signal=28 --name={name} --failed --timestamp", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/killsnoop.star", Args: "--table --kill --signal-names", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/killsnoop.star", Args: "--table --tpid={pid}", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/offcpu.star", Args: "--than=1ns --name={name}-*", Scene: "own"},
	{Script: "scripts/cpu/syscallerrors.star", Args: "--rows=1000", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/syscallerrors.star", Args: "--error=ENOENT", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/syscount.star", Args: "--by=call --rows=1000", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/syscount.star", Args: "--by=comm", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/syscount.star", Args: "--by=both --rows=1000", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/syscount.star", Args: "--failures --rows=1000", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/syscount.star", Args: "--errno=ENOENT", Scene: "own", ByThread: true},
	{Script: "scripts/cpu/syscount.star", Args: "--process", Scene: "own", ByThread: true},
	{Script: "scripts/file/fdleak.star", Args: "--rows=1000", Scene: "own", ByThread: true},
	{Script: "scripts/file/syncsnoop.star", Args: "--table --than=1ns", Scene: "ext4", ByThread: true},
	{Script: "scripts/file/vfsstat.star", Args: "--calls --interval=60s", Scene: "own", ByThread: true},
	{Script: "scripts/lock/contention.star", Args: "--than=1ns", Scene: "lock", ByThread: true, Interrupts: true},
	{Script: "scripts/lock/futexctn.star", Args: "--rows=1000", Scene: "own", ByThread: true},
	{Script: "scripts/lock/futexctn.star", Args: "--than=1ns", Scene: "own", ByThread: true},
	{Script: "scripts/lock/futexwait.star", Args: "--perthread", Scene: "own", ByThread: true},
	{Script: "scripts/lock/futexwait.star", Args: "--than=1ns", Scene: "own", ByThread: true},
	{Script: "scripts/mem/cachestat.star", Args: "", Scene: "own", ByThread: true},
	{Script: "scripts/mem/faults.star", Args: "--rows=1000", Scene: "own", ByThread: true},
	{Script: "scripts/mem/kmallocs.star", Args: "--by=caller --rows=1000", Scene: "own", ByThread: true, Interrupts: true, Recursive: true,
		Mine: map[string]string{"caller": "[^_a]*"}},
	{Script: "scripts/mem/kmallocs.star", Args: "--by=comm", Scene: "own", ByThread: true, Interrupts: true, Recursive: true, Ignore: []string{"waste", "bytes"}},
	{Script: "scripts/mem/mmaplock.star", Args: "--rows=1000 --than=1ms", Scene: "own", ByThread: true},
	{Script: "scripts/mem/rss.star", Args: "--rows=1000", Scene: "own", ByThread: true},
	{Script: "scripts/mem/reclaim.star", Args: "", Scene: "reclaim", ByThread: true},
	{Script: "scripts/mem/reclaim.star", Args: "--than=1ns", Scene: "reclaim", ByThread: true},
	{Script: "scripts/net/tcpconnect.star", Args: "--table --rows=1000", Scene: "net", Mine: map[string]string{"port": "{port}"}, Interrupts: true},
	{Script: "scripts/net/tcpconnect.star", Args: "--count --rows=1000", Scene: "net", Mine: map[string]string{"port": "{port}"}, Interrupts: true},
	{Script: "scripts/net/tcplife.star", Args: "--table --rows=1000", Scene: "net", ByThread: true, Interrupts: true},
	{Script: "scripts/net/tcpretrans.star", Args: "--table", Scene: "retry", Mine: map[string]string{"port": "{port}"}, Interrupts: true},
	{Script: "scripts/net/tcpretrans.star", Args: "--count", Scene: "retry", Mine: map[string]string{"port": "{port}"}, Interrupts: true},
	{Script: "scripts/net/tcpconnlat.star", Args: "--rows=1000", Scene: "net", Mine: map[string]string{"port": "{port}"}, Interrupts: true},
	{Script: "scripts/net/tcpconnlat.star", Args: "--rows=1000 --ipv4", Scene: "net", Mine: map[string]string{"port": "{port}"}, Interrupts: true},
	{Script: "scripts/net/tcpconnlat.star", Args: "--rows=1000 --ipv4 --ipv6", Scene: "net", Mine: map[string]string{"port": "{port}"}, Interrupts: true},
	{Script: "scripts/net/tcpstates.star", Args: "--table --port={port}", Scene: "net", Interrupts: true},
	{Script: "scripts/net/tcprtt.star", Args: "--port={port} --by=none", Scene: "net", Interrupts: true},
	{Script: "scripts/net/tcprtt.star", Args: "--port={port} --by=local", Scene: "net", Interrupts: true},
	{Script: "scripts/net/tcprtt.star", Args: "--port={port} --by=remote", Scene: "net", Interrupts: true},
	{Script: "scripts/net/tcprtt.star", Args: "--port={port} --ipv4", Scene: "net", Interrupts: true},
	{Script: "scripts/net/tcprtt.star", Args: "--port={port} --ipv4 --ipv6", Scene: "net", Interrupts: true},
	{Script: "scripts/net/tcpwin.star", Args: "--port={port} --rows=1000", Scene: "net", Interrupts: true},
	{Script: "scripts/net/tcpwin.star", Args: "--port={port} --each", Scene: "net", Interrupts: true},
	{Script: "scripts/net/solisten.star", Args: "--table", Scene: "rare", ByThread: true},
	{Script: "scripts/sched/cpudist.star", Args: "", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "scripts/sched/cpudist.star", Args: "--offcpu --per-thread", Scene: "own", Mine: own, Wakes: true, Interrupts: true},
	{Script: "scripts/sched/cpudist.star", Args: "--per-process --extension", Scene: "own", ByThread: true, Wakes: true, Interrupts: true},
	{Script: "scripts/sched/cpudist.star", Args: "--per-thread --include-idle", Scene: "own", Mine: own, Wakes: true, Interrupts: true},
	{Script: "scripts/sched/map.star", Args: "--slot=1s", Scene: "own", Mine: own, Ignore: []string{"slot"}},
	{Script: "scripts/sched/forks.star", Args: "--rows=1000 --inherit", Scene: "own", ByThread: true},
	{Script: "scripts/sched/forks.star", Args: "--each --inherit", Scene: "own", ByThread: true},
	{Script: "scripts/sched/naptime.star", Args: "--table --rows=1000", Scene: "own", ByThread: true},
	{Script: "scripts/sched/naptime.star", Args: "--table --than=100us", Scene: "own", ByThread: true},
	{Script: "scripts/sched/wakeuptime.star", Args: "--of={name}-* --than=1ns --rows=1000", Scene: "own", Wakes: true, Interrupts: true},
	{Script: "scripts/sched/offwake.star", Args: "--of={name}-* --than=1ns --rows=1000", Scene: "own", Wakes: true, Interrupts: true},
	{Script: "scripts/sched/runqlat.star", Args: "--by=none --name={name}-*", Scene: "own", Wakes: true, Interrupts: true},
	{Script: "scripts/sched/quiet.star", Args: "--events=raw_syscalls:sys_enter --than=50us --rows=1000", Scene: "own", ByThread: true, Ignore: []string{"since", "silent"}},
	{Script: "scripts/sched/runqlat.star", Args: "--than=1ns --name={name}-*", Scene: "own", Wakes: true, Interrupts: true},
	{Script: "scripts/sched/runqlat.star", Args: "--by=comm", Scene: "own", Mine: own, Wakes: true, Interrupts: true},
	{Script: "scripts/sched/runqlat.star", Args: "--by=cpu --name={name}-*", Scene: "own", Wakes: true, Interrupts: true},
	{Script: "scripts/sched/timehist.star", Args: "--rows=1000", Scene: "own", Mine: own, Wakes: true, Interrupts: true},
	{Script: "scripts/sched/timehist.star", Args: "--rows=1000 --each", Scene: "own", Mine: own, Wakes: true, Interrupts: true},
	{Script: "scripts/sched/wakers.star", Args: "--of={name}-* --rows=1000", Scene: "own", Wakes: true, Interrupts: true, Mine: map[string]string{"waker": "{name}-*"}},
	{Script: "scripts/security/bpfsnoop.star", Args: "--rows=1000", Scene: "rare", ByThread: true},
	{Script: "scripts/security/capable.star", Args: "--table --rows=1000", Scene: "own", ByThread: true},
	{Script: "scripts/security/namespaces.star", Args: "", Scene: "rare", ByThread: true},
	{Script: "scripts/security/ptracesnoop.star", Args: "--rows=1000", Scene: "rare", ByThread: true},
	{Script: "scripts/security/setuids.star", Args: "--table", Scene: "rare", ByThread: true},
	{Script: "scripts/security/setuids.star", Args: "--table --failed", Scene: "rare", ByThread: true},
	{Script: "scripts/virt/exits.star", Args: "--vcpu", Scene: "kvm"},
	{Script: "scripts/virt/vcpuwait.star", Args: "--name={name}-*", Scene: "own", Wakes: true, Interrupts: true},
	{Script: "scripts/virt/vcpuwait.star", Args: "--than=1ns --name={name}-*", Scene: "own", Wakes: true, Interrupts: true},
}
