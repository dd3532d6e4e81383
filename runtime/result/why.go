package result

import (
	"ppscript/runtime/event"
	"ppscript/runtime/stack"
)

// A Why explains where the time of slow spans went, and of normal spans for comparison. The
// parts of each span add up to its length exactly.
type Why struct {
	Name string // of the result in the script
	Meta Meta
	// Slow and Normal count the explained spans.
	Slow, Normal WhySpans
	// Causes has the time of these spans by path of causes.
	Causes []WhyCause
	// Slowest has some of the slow spans with all their parts, the slowest
	// first.
	Slowest []*WhySpan
	// Doubtful counts the slow spans that have a Doubt.
	Doubtful WhySpans
	// Stacks has the stacks that the parts of Slowest refer to.
	Stacks map[stack.ID]CallStack
	// Skipped counts slow spans that were not explained, since that would have used more than a
	// quarter of a CPU.
	Skipped uint64
	// Notes say what could not be observed, each with the command that would fix that.
	Notes []string
}

// WhySpans is a number of spans and their total time.
type WhySpans struct {
	Spans uint64
	NS    int64
}

// A WhyCause is a path of causes with its time in slow and in normal spans.
type WhyCause struct {
	Path []WhyLink // without stacks; threads without TID and PID
	// Slow and Normal have the number of spans that contain the path, and its time in
	// them.
	Slow, Normal WhySpans
}

// A WhySpan is an explained span.
type WhySpan struct {
	Label    string // name for people: "openat", "start => end"
	Key      string // key of the pair; "" if the key is the thread
	Task     WhyTask
	From, To event.Time
	// Parts are in time order, without gaps or overlaps, from From to To.
	Parts []WhyPart
	// Doubt says why the parts could be wrong, such as a loss; "" if there is no doubt.
	Doubt string
	// Merged says that the span had so many parts that nearby parts of one cause were merged:
	// their lengths are exact, but their times are not.
	Merged bool
}

// NS returns the length of a span in ns.
func (s *WhySpan) NS() int64 { return int64(s.To - s.From) }

// A WhyPart is a part of a span with one cause.
type WhyPart struct {
	From, To event.Time
	// Path begins with the activity of the span's own thread. If that waited for another
	// thread, the next link is the other thread's activity at that time, and so on; the last
	// link is the cause.
	Path []WhyLink
}

// NS returns the length of a part in ns.
func (p *WhyPart) NS() int64 { return int64(p.To - p.From) }

// Cause returns the last link of the path.
func (p *WhyPart) Cause() WhyLink { return p.Path[len(p.Path)-1] }

// A WhyTask is a thread. In paths of WhyCause TID and PID are 0.
type WhyTask struct {
	TID, PID int32
	Comm     string
}

// A WhyLink is the activity of a thread during a part, or what it waited for.
type WhyLink struct {
	Task WhyTask
	Kind WhyKind
	// What is the detail that belongs to Kind: the system call, the handler of the
	// interrupt, the softirq, "vda read, device", "futex 0x7f12", the call site of a lock,
	// the reason why it is unknown.
	What string
	// File is the file that the call's file descriptor refers to: a path, "pipe", "tcp
	// 10.0.0.1:5432"; "now NAME" if it may have been another file at that time. For a futex it
	// describes the futex's address: "queue_lock+0x8 of libx.so", "heap", "stack of worker/12".
	File string
	// Whom is the thread that caused the wait: the lock's holder, the thread on the CPU, or
	// the waker. Its Comm is "" if it is unknown.
	Whom WhyTask
	// Foreign says that Whom is in another process, Kernel that it is a kernel thread. Cgroup
	// describes the cgroup of Whom if it differs from the thread's own: "container web", "unit
	// cron.service", "cgroup /a".
	Foreign, Kernel bool
	Cgroup          string
	// Stack is the stack with which the thread left the CPU, WakerStack the
	// stack of the waker.
	Stack, WakerStack stack.ID
}

// WhyKind says what a thread did or waited for. The meaning of WhyLink.What
// depends on it.
type WhyKind uint8

const (
	WhyUnknown WhyKind = iota

	// The thread was on a CPU.
	WhyUser    // code of the program
	WhySyscall // inside the kernel for a system call; What is its name
	WhyKernel  // inside the kernel, not for a system call; What is the work of a kernel thread, if known
	WhyCPU     // on a CPU, unknown whether in the program or the kernel; What is the reason
	WhyFault   // a page fault; What is "minor", "major" or ""
	WhyIRQ     // interrupted by a hard interrupt; What is its handler
	WhySoftirq // interrupted by a softirq; What is its name
	WhySteal   // the hypervisor ran something else

	// The thread was runnable, but not on a CPU.
	WhyBehind // Whom had the CPU; if it is a kernel thread, What is its work
	WhyQuota  // throttled by the cgroup's CPU quota; What is the cgroup
	WhyIdle   // an idle CPU took long to wake

	// The thread was blocked.
	WhyFutex   // waited for a lock of the program; What is its address, Whom its holder
	WhyLock    // waited for a lock of the kernel; What is its call site
	WhyDisk    // waited for a disk request; What has disk, direction, and "queue" or "device"
	WhyNetwork // waited for a packet or a socket; What says which
	WhyTimer   // waited for a time that the thread chose; What is the call
	WhyThread  // waited for another thread, which woke it; What is the call that woke it
	WhyBlocked // blocked, and woken by an interrupt or an unknown thread
)

var whyKinds = [...]string{
	WhyUnknown: "unknown", WhyUser: "user code", WhySyscall: "system call", WhyKernel: "kernel", WhyCPU: "on a CPU",
	WhyFault: "page fault", WhyIRQ: "interrupt", WhySoftirq: "softirq", WhySteal: "steal",
	WhyBehind: "runnable behind", WhyQuota: "CPU quota", WhyIdle: "CPU waking up",
	WhyFutex: "futex", WhyLock: "kernel lock", WhyDisk: "disk", WhyNetwork: "network",
	WhyTimer: "timer", WhyThread: "thread", WhyBlocked: "blocked",
}

func (k WhyKind) String() string { return whyKinds[k] }
