package result

import (
	"ppscript/runtime/event"
	"ppscript/runtime/stack"
)

// A Why says where the time of spans went: of the slow ones, and, to compare, of normal ones.
// The parts of each span add up to it, to the nanosecond.
type Why struct {
	Name string // of the result in the script
	Meta Meta
	// Slow and Normal are all spans of which the causes are told.
	Slow, Normal WhySpans
	// Causes are what the time of these spans went to, by path.
	Causes []WhyCause
	// Slowest are some of the slow spans, the slowest first.
	Slowest []*WhySpan
	// Doubtful are the slow spans that have a Doubt.
	Doubtful WhySpans
	// Stacks are the functions of the stacks that the parts of Slowest name.
	Stacks map[stack.ID]CallStack
	// Skipped are slow spans that were not explained: that would have taken more than a quarter of a CPU.
	Skipped uint64
	// Notes say what could not be seen here, each with the command that would mend it.
	Notes []string
}

// WhySpans are a number of spans and how long they were altogether.
type WhySpans struct {
	Spans uint64
	NS    int64
}

// A WhyCause is what a path of causes took of slow and of normal spans.
type WhyCause struct {
	Path []WhyLink // without stacks; threads without numbers
	// Slow and Normal are the spans in which it was seen, and the time it took of them.
	Slow, Normal WhySpans
}

// A WhySpan is a span with where its time went.
type WhySpan struct {
	Label    string // what it is, for people: "openat", "start => end"
	Key      string // of the pair; "" if it is the thread
	Task     WhyTask
	From, To event.Time
	// Parts are in time order, without gaps and without overlap: they begin at From and end at
	// To.
	Parts []WhyPart
	// Doubt says why the parts could be otherwise than told, such as a loss; "" is none.
	Doubt string
	// Merged says that the span had so many parts that those near each other were put together by
	// cause: how much each took is told, but not quite when.
	Merged bool
}

// NS is the length of a span.
func (s *WhySpan) NS() int64 { return int64(s.To - s.From) }

// A WhyPart is a part of a span, with one cause.
type WhyPart struct {
	From, To event.Time
	// Path begins with the span's own thread. If that waited for another thread, the next link
	// is what that one did meanwhile, and so on; the last link is the cause.
	Path []WhyLink
}

// NS is the length of a part.
func (p *WhyPart) NS() int64 { return int64(p.To - p.From) }

// Cause is what the time of the part went to.
func (p *WhyPart) Cause() WhyLink { return p.Path[len(p.Path)-1] }

// A WhyTask is a thread. In paths of WhyCause TID and PID are 0.
type WhyTask struct {
	TID, PID int32
	Comm     string
}

// A WhyLink is what a thread did, or waited for, during a part.
type WhyLink struct {
	Task WhyTask
	Kind WhyKind
	// What names it, as people know it: the system call, the handler of the interrupt, the
	// softirq, "vda read, device", "futex 0x7f12", the call site of a lock, the reason why
	// it is unknown.
	What string
	// File is what the number of the call's file stands for: a path, "pipe", "tcp 10.0.0.1:5432";
	// "now NAME" if it may have stood for another at that time. Of a futex it is what lies at its
	// address: "queue_lock+0x8 of libx.so", "heap", "stack of worker/12".
	File string
	// Whom lists the threads in the way: the lock's holder, the thread on the CPU, the waker;
	// Comm is "" if that is not known.
	Whom WhyTask
	// Foreign says that Whom is of another process, Kernel that it is a thread of the kernel.
	// Cgroup is the cgroup of Whom, for people, where it is another than the thread's own: "container
	// web", "unit cron.service", "cgroup /a".
	Foreign, Kernel bool
	Cgroup          string
	// Stack is where the thread left the CPU, WakerStack where the waker was.
	Stack, WakerStack stack.ID
}

// WhyKind is the kind of a cause.
type WhyKind uint8

const (
	WhyUnknown WhyKind = iota

	// On a CPU.
	WhyUser    // code of the program
	WhySyscall // inside the kernel for a system call; What is its name
	WhyKernel  // inside the kernel; kernel threads, What is the work that one does, if it is known
	WhyCPU     // on a CPU, not known whether in the program or in the kernel; What says why
	WhyFault   // a page fault; What is "minor", "major" or ""
	WhyIRQ     // stolen by a hard interrupt; What is its handler
	WhySoftirq // stolen by a softirq; What is its name
	WhySteal   // stolen by the hypervisor

	// Runnable without a CPU.
	WhyBehind // Whom had the CPU; What is the work that a thread of the kernel did
	WhyQuota  // held by the cgroup's CPU quota; What is the cgroup
	WhyIdle   // an idle CPU took long to wake

	// Blocked.
	WhyFutex   // a lock of the program; What is its address, Whom its holder
	WhyLock    // a lock of the kernel; What is its call site
	WhyDisk    // a disk request; What says device, direction, and queue or device
	WhyNetwork // a packet's arrival, a socket; What says which
	WhyTimer   // a time that the thread asked for; What is the call
	WhyThread  // another thread, which woke it; What says by which call
	WhyBlocked // blocked, woken by an interrupt or somebody that is not known
)

var whyKinds = [...]string{
	WhyUnknown: "unknown", WhyUser: "user code", WhySyscall: "system call", WhyKernel: "kernel", WhyCPU: "on a CPU",
	WhyFault: "page fault", WhyIRQ: "interrupt", WhySoftirq: "softirq", WhySteal: "steal",
	WhyBehind: "runnable behind", WhyQuota: "CPU quota", WhyIdle: "CPU waking up",
	WhyFutex: "futex", WhyLock: "kernel lock", WhyDisk: "disk", WhyNetwork: "network",
	WhyTimer: "timer", WhyThread: "thread", WhyBlocked: "blocked",
}

func (k WhyKind) String() string { return whyKinds[k] }
