package why_test

import (
	"strings"
	"testing"

	"ppscript/runtime/why"
)

// lesser stories are of causes that need more than their thread's own events.
var lesser = []struct {
	name, history string
	from, to      int
	want          string
}{
	{"a request that another thread made", `
		a=10/11 j=9/901
		0 1 j wake a 0
		0 0 a enter fsync 3
		2 0 a dsleep -
		10 1 j insert 8
		12 1 j issue 8
		13 1 j sleep -
		40 1 - softirq 4
		41 1 - complete 8
		42 1 - wake a 0
		43 1 - softirq- 4
		45 0 - run a
		50 0 a exit fsync`, 0, 50, `
		0-2 a: system call "fsync"
		2-10 a: thread "asks for vda read" (j, kernel) > j: kernel
		10-12 a: disk "vda read, queue"
		12-42 a: disk "vda read, device"
		42-45 a: CPU waking up
		45-50 a: system call "fsync"`},
	{"what a worker of the kernel does", `
		a=10/11 w=9/901
		0 1 w sleep -
		0 0 a enter fsync 3
		1 0 a wake w 1
		2 0 a dsleep -
		3 1 - run w
		4 1 w work 1
		10 1 w sleep -
		18 1 - timer
		19 1 - wake w 1
		19 1 - timer-
		20 1 - run w
		22 1 w wake a 1
		24 1 w work- 1
		26 1 w work 2
		30 1 w work- 2
		31 1 w run a
		32 1 a exit fsync
		33 1 a run w
		34 1 w work 2
		38 1 w work- 2
		39 1 w sleep a
		40 1 a enter getppid`, 0, 40, `
		0-2 a: system call "fsync"
		2-3 a: thread "fsync fd 3, woken by work wb_workfn" (w, kernel) > w: CPU waking up
		3-4 a: thread "fsync fd 3, woken by work wb_workfn" (w, kernel) > w: kernel
		4-10 a: thread "fsync fd 3, woken by work wb_workfn" (w, kernel) > w: kernel "work wb_workfn"
		10-19 a: thread "fsync fd 3, woken by work wb_workfn" (w, kernel) > w: timer "work wb_workfn"
		19-20 a: thread "fsync fd 3, woken by work wb_workfn" (w, kernel) > w: CPU waking up
		20-22 a: thread "fsync fd 3, woken by work wb_workfn" (w, kernel) > w: kernel "work wb_workfn"
		22-31 a: runnable behind (w, kernel)
		31-32 a: system call "fsync"
		32-33 a: user code
		33-39 a: runnable behind "work vmstat_update" (w, kernel)
		39-40 a: user code`},
	{"begins of faults that the software tells, in the program and in a call", `
		a=10/11 b=20/20
		0 0 a enter read 3
		5 0 a page
		7 0 a minor
		8 0 a exit read
		10 0 a page
		12 0 a sleep b
		20 0 b wake a 0
		21 0 b run a
		23 0 a major
		25 0 a enter getppid`, 0, 25, `
		0-5 a: system call "read"
		5-7 a: page fault "minor"
		7-8 a: system call "read"
		8-10 a: user code
		10-12 a: page fault "major"
		12-20 a: thread "page fault" (b, foreign) > b: on a CPU "no system call of it was seen"
		20-21 a: runnable behind (b, foreign)
		21-23 a: page fault "major"
		23-25 a: user code`},
	{"a timer of a softirq, and a sleep whose interrupt was not seen", `
		a=10/11
		0 0 a enter poll
		1 0 a sleep -
		20 0 - softirq 1
		21 0 - wake a 0
		22 0 - softirq- 1
		23 0 - run a
		24 0 a exit poll
		25 0 a enter nanosleep
		26 0 a sleep -
		50 0 - wake a 0
		51 0 - run a
		52 0 a exit nanosleep`, 0, 52, `
		0-1 a: system call "poll"
		1-21 a: timer "poll"
		21-22 a: softirq "TIMER"
		22-23 a: CPU waking up
		23-24 a: system call "poll"
		24-25 a: user code
		25-26 a: system call "nanosleep"
		26-50 a: timer "nanosleep"
		50-51 a: CPU waking up
		51-52 a: system call "nanosleep"`},
	{"who waits for a CPU in a cgroup whose quota is used up", `
		a=10/11 b=10/12 c=20/20
		0 0 a enter read 3
		1 0 a sleep b
		10 0 b throttle 0xc0
		11 0 b run c
		15 1 - softirq 3
		16 1 - wake a 0
		17 1 - softirq- 3
		20 0 c exit read
		50 0 c unthrottle 0xc0
		60 0 c run a
		62 0 a exit read`, 0, 62, `
		0-1 a: system call "read"
		1-16 a: network "read fd 3"
		16-50 a: CPU quota "/lid"
		50-60 a: runnable behind (c, foreign)
		60-62 a: system call "read"`},
	{"a wait that does not end", `
		a=10/11
		0 0 a enter futex 0x1000 128
		10 0 a sleep -
		50 0 - softirq 1`, 0, 60, `
		0-10 a: system call "futex"
		10-60 a: futex "futex 0x1000"`},
	{"an interrupt that nobody knows", `
		a=10/11
		0 0 a enter ioctl 3
		10 0 a sleep -
		50 1 - irq vfio
		51 1 - wake a 0
		52 1 - irq-
		53 0 - run a
		60 0 a exit ioctl`, 0, 60, `
		0-10 a: system call "ioctl"
		10-51 a: blocked "ioctl fd 3, woken by vfio"
		51-53 a: CPU waking up
		53-60 a: system call "ioctl"`},
	{"a spinlock", `
		a=10/11
		0 0 a enter write 3
		10 0 a lock 0xff00 1
		20 0 a locked 0xff00
		30 0 a exit write`, 0, 30, `
		0-10 a: system call "write"
		10-20 a: kernel lock "spinlock 0xff00"
		20-30 a: system call "write"`},
}

func TestLesserStories(t *testing.T) {
	for _, s := range lesser {
		t.Run(s.name, func(t *testing.T) {
			h := tell(s.history)
			cfg := h.config()
			cfg.Cgroup = func(tid int32) why.Cgroup {
				if tid < 20 {
					return why.Cgroup{Path: "/lid"}
				}
				return why.Cgroup{Path: "/"}
			}
			got := why.New(cfg).Explain(h.span("a", s.from, s.to), why.History{Events: h.events()})
			whole(t, got)
			var want strings.Builder
			for line := range strings.Lines(s.want) {
				if line = strings.TrimSpace(line); line != "" {
					want.WriteString(line + "\n")
				}
			}
			if partsText(got) != want.String() {
				t.Errorf("got\n%swant\n%s", partsText(got), want.String())
			}
		})
	}
}

// TestFaultsWithoutTheirEnds does not tell page faults from the program where only their
// begins are seen, but what blocks in one is its.
func TestFaultsWithoutTheirEnds(t *testing.T) {
	h := tell(`
		a=10/11 b=20/20
		0 0 a exit read
		0 1 b exit read
		10 0 a fault
		30 0 a fault
		32 0 a sleep -
		50 1 b wake a 0
		55 0 - run a
		60 0 a enter read`)
	got := why.New(h.config()).Explain(h.span("a", 0, 60), why.History{Events: h.events()})
	whole(t, got)
	const want = `0-10 a: user code
10-32 a: user code "and page faults"
32-50 a: thread "page fault" (b, foreign) > b: user code
50-55 a: CPU waking up
55-60 a: user code "and page faults"
`
	if partsText(got) != want {
		t.Errorf("got\n%swant\n%s", partsText(got), want)
	}
}
