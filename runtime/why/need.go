package why

// A Need is an event that explanations use.
type Need struct {
	Event string // "sched:sched_switch", "software:minor-faults", "kprobe:throttle_cfs_rq"
	For   string // what it shows, for people
	// Optional events make explanations more precise: without them causes are
	// coarser or unknown. Without the others no explanation is possible.
	Optional bool
	// Stack says that the event should have a stack, if stacks are wanted.
	Stack bool
	// Instead lists events that replace it on kernels without it, the best first.
	Instead []string
}

// Needs lists the events that explanations use. They must be observed on all CPUs,
// since a span may wait for any thread.
func Needs() []Need {
	return []Need{
		{Event: "sched:sched_switch", For: "who runs", Stack: true},
		{Event: "sched:sched_waking", For: "who wakes whom", Stack: true, Instead: []string{"sched:sched_wakeup"}},
		{Event: "sched:sched_wakeup_new", For: "when threads begin", Optional: true},
		{Event: "sched:sched_migrate_task", For: "for which CPU threads wait", Optional: true},
		{Event: "raw_syscalls:sys_enter", For: "system calls", Optional: true},
		{Event: "raw_syscalls:sys_exit", For: "system calls", Optional: true},
		{Event: "irq:irq_handler_entry", For: "hard interrupts", Optional: true},
		{Event: "irq:irq_handler_exit", For: "hard interrupts", Optional: true},
		{Event: "irq:softirq_entry", For: "softirqs", Optional: true},
		{Event: "irq:softirq_exit", For: "softirqs", Optional: true},
		{Event: "irq_vectors:local_timer_entry", For: "the timer's interrupt", Optional: true},
		{Event: "irq_vectors:local_timer_exit", For: "the timer's interrupt", Optional: true},
		{Event: "block:block_rq_insert", For: "queues of disks", Optional: true},
		{Event: "block:block_rq_issue", For: "disks", Optional: true},
		{Event: "block:block_rq_complete", For: "disks", Optional: true},
		{Event: "lock:contention_begin", For: "locks of the kernel", Optional: true, Stack: true},
		{Event: "lock:contention_end", For: "locks of the kernel", Optional: true},
		{Event: "exceptions:page_fault_user", For: "page faults", Optional: true},
		{Event: "exceptions:page_fault_kernel", For: "page faults", Optional: true},
		{Event: "software:minor-faults", For: "how long page faults take", Optional: true},
		{Event: "software:major-faults", For: "how long page faults take", Optional: true},
		{Event: "workqueue:workqueue_execute_start", For: "what the kernel's workers do", Optional: true},
		{Event: "workqueue:workqueue_execute_end", For: "what the kernel's workers do", Optional: true},
		{Event: "net:netif_rx", For: "who sends packets to this machine itself", Optional: true},
		{Event: "kprobe:throttle_cfs_rq", For: "the CPU quota", Optional: true},
		{Event: "kprobe:unthrottle_cfs_rq", For: "the CPU quota", Optional: true},
	}
}
