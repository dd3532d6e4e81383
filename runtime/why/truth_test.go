package why_test

import (
	"strings"
	"testing"

	"ppscript/runtime/why"
)

// The links of a chain.
const (
	inB = `a: thread "read fd 3, woken by write" (b, foreign) > `
	inC = `b: thread "read fd 4, woken by write" (c, foreign) > `
	inD = `c: thread "recvfrom fd 5, woken by write" (d, foreign) > `
)

// stories have one cause each, with what is to be told of it.
var stories = []struct {
	name, history string
	from, to      int
	want          string
}{
	{"user code and a system call", `
		a=10/11
		0 0 a exit read
		50 0 a enter write 3
		70 0 a exit write
		100 0 a enter getpid`, 0, 100, `
		0-50 a: user code
		50-70 a: system call "write"
		70-100 a: user code`},
	{"a futex whose holder computes", `
		a=10/11 b=10/12
		0 0 a enter futex 0x1000 128
		0 1 b exit read
		10 0 a sleep -
		80 1 b enter futex 0x1000 129
		85 1 b wake a 0
		90 0 - run a
		100 0 a exit futex`, 0, 100, `
		0-10 a: system call "futex"
		10-80 a: futex "futex 0x1000" (b) > b: user code
		80-85 a: futex "futex 0x1000" (b) > b: system call "futex"
		85-90 a: CPU waking up
		90-100 a: system call "futex"`},
	{"an interrupt whose end was not seen", `
		a=10/11 b=10/12
		0 0 a enter futex 0x1000 128
		0 1 b exit read
		10 0 a sleep -
		20 1 b timer
		80 1 b enter futex 0x1000 129
		85 1 b wake a 0
		90 0 - run a
		100 0 a exit futex`, 0, 100, `
		0-10 a: system call "futex"
		10-20 a: futex "futex 0x1000" (b) > b: user code
		20-80 a: futex "futex 0x1000" (b) > b: unknown "an interrupt whose events were not seen may have had it"
		80-85 a: futex "futex 0x1000" (b) > b: system call "futex"
		85-90 a: CPU waking up
		90-100 a: system call "futex"`},
	{"a futex whose holder sleeps", `
		a=10/11 b=10/12
		0 1 b enter nanosleep
		1 1 b sleep -
		5 0 a enter futex 0x1000 128
		10 0 a sleep -
		70 1 - timer
		71 1 - wake b 1
		72 1 - timer-
		75 1 - run b
		76 1 b exit nanosleep
		80 1 b enter futex 0x1000 129
		85 1 b wake a 0
		86 1 b exit futex
		90 0 - run a
		100 0 a exit futex`, 5, 100, `
		5-10 a: system call "futex"
		10-71 a: futex "futex 0x1000" (b) > b: timer "nanosleep"
		71-72 a: futex "futex 0x1000" (b) > b: interrupt "local timer"
		72-75 a: futex "futex 0x1000" (b) > b: CPU waking up
		75-76 a: futex "futex 0x1000" (b) > b: system call "nanosleep"
		76-80 a: futex "futex 0x1000" (b) > b: user code
		80-85 a: futex "futex 0x1000" (b) > b: system call "futex"
		85-90 a: CPU waking up
		90-100 a: system call "futex"`},
	{"a futex whose holder reads a disk", `
		a=10/11 b=10/12 k=9/900
		5 0 a enter futex 0x1000 128
		10 0 a sleep -
		0 1 b enter pread64 5
		20 1 b insert 8
		21 1 b dsleep k
		30 1 k issue 8
		31 1 k sleep -
		60 2 - irq vda-req
		61 2 - complete 8
		62 2 - wake b 1
		63 2 - irq-
		65 1 - run b
		66 1 b exit pread64
		67 1 b enter futex 0x1000 129
		68 1 b wake a 0
		69 0 - run a
		70 0 a exit futex`, 5, 70, `
		5-10 a: system call "futex"
		10-21 a: futex "futex 0x1000" (b) > b: system call "pread64"
		21-30 a: futex "futex 0x1000" (b) > b: disk "vda read, queue"
		30-62 a: futex "futex 0x1000" (b) > b: disk "vda read, device"
		62-65 a: futex "futex 0x1000" (b) > b: CPU waking up
		65-66 a: futex "futex 0x1000" (b) > b: system call "pread64"
		66-67 a: futex "futex 0x1000" (b) > b: user code
		67-68 a: futex "futex 0x1000" (b) > b: system call "futex"
		68-69 a: CPU waking up
		69-70 a: system call "futex"`},
	{"a chain of four over pipes", `
		a=1/1 b=2/2 c=3/3 d=4/4
		0 0 d enter read 9
		0 0 d exit read
		0 1 a enter read 3
		1 1 a sleep -
		0 2 b enter read 4
		1 2 b sleep -
		0 3 c enter recvfrom 5
		1 3 c sleep -
		50 0 d enter write 5
		51 0 d wake c 3
		52 3 - run c
		53 3 c exit recvfrom
		60 3 c enter write 4
		61 3 c wake b 2
		62 2 - run b
		63 2 b exit read
		70 2 b enter write 3
		71 2 b wake a 1
		72 1 - run a
		73 1 a exit read`, 0, 73, `
		0-1 a: system call "read"
		1-50 ` + inB + inC + inD + `d: user code
		50-51 ` + inB + inC + inD + `d: system call "write"
		51-52 ` + inB + inC + `c: CPU waking up
		52-53 ` + inB + inC + `c: system call "recvfrom"
		53-60 ` + inB + inC + `c: user code
		60-61 ` + inB + inC + `c: system call "write"
		61-62 ` + inB + `b: CPU waking up
		62-63 ` + inB + `b: system call "read"
		63-70 ` + inB + `b: user code
		70-71 ` + inB + `b: system call "write"
		71-72 a: CPU waking up
		72-73 a: system call "read"`},
	{"priority inversion", `
		a=10/11 low=10/12 mid=20/20
		0 0 a enter futex 0x1000 128
		0 1 low exit read
		0 1 low run mid
		5 1 mid exit read
		10 0 a sleep -
		80 1 mid run low
		85 1 low enter futex 0x1000 129
		86 1 low wake a 0
		90 0 - run a
		100 0 a exit futex`, 0, 100, `
		0-10 a: system call "futex"
		10-80 a: futex "futex 0x1000" (low) > low: runnable behind (mid, foreign)
		80-85 a: futex "futex 0x1000" (low) > low: user code
		85-86 a: futex "futex 0x1000" (low) > low: system call "futex"
		86-90 a: CPU waking up
		90-100 a: system call "futex"`},
	{"behind its own process and another one", `
		a=10/11 b=10/12 c=20/20
		0 0 a exit read
		10 0 a run b
		20 0 b exit read
		30 0 b run c
		40 0 c irq eth0
		45 0 c irq-
		50 0 c run a
		60 0 a enter read`, 0, 60, `
		0-10 a: user code
		10-30 a: runnable behind (b)
		30-40 a: runnable behind (c, foreign)
		40-45 a: interrupt "eth0"
		45-50 a: runnable behind (c, foreign)
		50-60 a: user code`},
	{"moved to another CPU while it waits", `
		a=10/11 b=10/12 c=20/20
		0 1 c exit read
		0 0 a exit read
		10 0 a run b
		30 0 b move a 0 1
		50 1 c run a
		60 1 a enter read`, 0, 60, `
		0-10 a: user code
		10-30 a: runnable behind (b)
		30-50 a: runnable behind (c, foreign)
		50-60 a: user code`},
	{"interrupts take from a system call", `
		a=10/11
		0 0 a enter write 1
		10 0 a irq eth0
		12 0 a irq-
		12 0 a softirq 3
		13 0 a timer
		14 0 a timer-
		20 0 a softirq- 3
		30 0 a exit write`, 0, 30, `
		0-10 a: system call "write"
		10-12 a: interrupt "eth0"
		12-13 a: softirq "NET_RX"
		13-14 a: interrupt "local timer"
		14-20 a: softirq "NET_RX"
		20-30 a: system call "write"`},
	{"a packet from elsewhere", `
		a=10/11
		0 0 a enter recvfrom 7
		1 0 a sleep -
		40 1 - irq eth0
		41 1 - irq-
		42 1 - softirq 3
		43 1 - wake a 0
		44 1 - softirq- 3
		45 0 - run a
		50 0 a exit recvfrom`, 0, 50, `
		0-1 a: system call "recvfrom"
		1-43 a: network "recvfrom fd 7"
		43-45 a: CPU waking up
		45-50 a: system call "recvfrom"`},
	{"a packet from this machine", `
		a=10/11 b=20/20
		0 0 a enter recvfrom 7
		1 0 a sleep -
		0 1 b exit read
		40 1 b enter sendto 3
		41 1 b rx
		42 1 b softirq 3
		43 1 b wake a 0
		44 1 b softirq- 3
		45 0 - run a
		50 0 a exit recvfrom`, 0, 50, `
		0-1 a: system call "recvfrom"
		1-40 a: network "recvfrom fd 7" (b, foreign) > b: user code
		40-41 a: network "recvfrom fd 7" (b, foreign) > b: system call "sendto"
		41-43 a: network "recvfrom fd 7" (b, foreign)
		43-45 a: CPU waking up
		45-50 a: system call "recvfrom"`},
	{"a lock of the kernel", `
		a=10/11 b=20/20
		0 0 a enter mmap
		1 1 b enter munmap
		5 0 a lock 0xff00 36
		6 0 a dsleep -
		40 1 b wake a 0
		41 1 b exit munmap
		45 0 - run a
		46 0 a locked 0xff00
		50 0 a exit mmap`, 0, 50, `
		0-5 a: system call "mmap"
		5-6 a: kernel lock "mutex 0xff00"
		6-40 a: kernel lock "mutex 0xff00" (b, foreign) > b: system call "munmap"
		40-45 a: CPU waking up
		45-46 a: kernel lock "mutex 0xff00"
		46-50 a: system call "mmap"`},
	{"page faults", `
		a=10/11
		0 0 a exit read
		10 0 a fault
		12 0 a minor
		20 0 a fault
		21 0 a insert 8
		22 0 a issue 8
		23 0 a dsleep -
		50 1 - softirq 4
		51 1 - complete 8
		52 1 - wake a 0
		53 1 - softirq- 4
		55 0 - run a
		56 0 a major
		60 0 a enter read`, 0, 60, `
		0-10 a: user code
		10-12 a: page fault "minor"
		12-20 a: user code
		20-23 a: page fault "major"
		23-52 a: disk "vda read, device"
		52-55 a: CPU waking up
		55-56 a: page fault "major"
		56-60 a: user code`},
	{"the quota of its cgroup", `
		a=10/11
		0 0 a exit read
		20 0 a throttle 0xc0
		21 0 a run -
		100 0 - unthrottle 0xc0
		102 0 - run a
		110 0 a enter read`, 0, 110, `
		0-21 a: user code
		21-100 a: CPU quota
		100-102 a: CPU waking up
		102-110 a: user code`},
	{"woken while it was about to sleep", `
		a=10/11 b=10/12 c=20/20
		0 0 a enter read 3
		9 1 b wake a 0
		10 0 a sleep c
		30 0 c run a
		40 0 a exit read`, 0, 40, `
		0-10 a: system call "read"
		10-30 a: runnable behind (c, foreign)
		30-40 a: system call "read"`},
	{"a span that begins in the middle of a wait", `
		a=10/11 b=10/12
		0 1 b enter write 3
		20 1 b wake a 0
		21 0 - run a
		30 0 a exit read`, 5, 30, `
		5-20 a: thread "read, woken by write" (b) > b: system call "write"
		20-21 a: CPU waking up
		21-30 a: system call "read"`},
	{"a child that its parent waits for", `
		a=10/10 b=20/20
		0 0 a enter wait4
		1 0 a sleep -
		0 1 b exit read
		30 1 b enter exit_group
		35 1 b wake a 0
		36 1 b die -
		38 0 - run a
		40 0 a exit wait4`, 0, 40, `
		0-1 a: system call "wait4"
		1-30 a: thread "wait4, woken by exit_group" (b, foreign) > b: user code
		30-35 a: thread "wait4, woken by exit_group" (b, foreign) > b: system call "exit_group"
		35-38 a: CPU waking up
		38-40 a: system call "wait4"`},
	{"before it was made, its parent worked", `
		a=10/11 b=10/12 p=10/10
		0 2 p exit read
		0 0 a enter futex 0x1 128
		1 0 a sleep -
		30 2 p enter clone
		32 2 p born b 1
		34 1 - run b
		36 1 b exit clone
		40 1 b enter futex 0x1 129
		41 1 b wake a 0
		42 0 - run a
		43 0 a exit futex`, 0, 43, `
		0-1 a: system call "futex"
		1-30 a: futex "futex 0x1" (b) > b: thread "not begun" (p) > p: user code
		30-32 a: futex "futex 0x1" (b) > b: thread "not begun" (p) > p: system call "clone"
		32-34 a: futex "futex 0x1" (b) > b: CPU waking up
		34-36 a: futex "futex 0x1" (b) > b: system call "clone"
		36-40 a: futex "futex 0x1" (b) > b: user code
		40-41 a: futex "futex 0x1" (b) > b: system call "futex"
		41-42 a: CPU waking up
		42-43 a: system call "futex"`},
	{"an idle CPU that is the quota's, not seen", `
		a=10/11
		0 0 a exit read
		20 0 a run -
		100 0 - run a
		110 0 a enter read`, 0, 110, `
		0-20 a: user code
		20-100 a: unknown "its CPU is idle, perhaps its quota is used up: ` +
		`kprobe:throttle_cfs_rq is not observed"
		100-110 a: user code`},
	{"two that wake each other", `
		a=10/11 b=10/12
		0 0 a enter read 3
		1 0 a sleep -
		0 1 b enter read 4
		2 1 b sleep -
		3 2 - softirq 3
		4 2 - wake b 1
		5 2 - softirq- 3
		6 1 - run b
		7 1 b exit read
		8 1 b enter write 3
		9 1 b wake a 0
		10 0 - run a
		11 0 a exit read`, 0, 11, `
		0-1 a: system call "read"
		1-2 a: thread "read fd 3, woken by write" (b) > b: system call "read"
		2-4 a: thread "read fd 3, woken by write" (b) > b: network "read fd 4"
		4-6 a: thread "read fd 3, woken by write" (b) > b: CPU waking up
		6-7 a: thread "read fd 3, woken by write" (b) > b: system call "read"
		7-8 a: thread "read fd 3, woken by write" (b) > b: user code
		8-9 a: thread "read fd 3, woken by write" (b) > b: system call "write"
		9-10 a: CPU waking up
		10-11 a: system call "read"`},
}

func TestStories(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			h := tell(s.history)
			x := why.New(h.config())
			got := x.Explain(h.span("a", s.from, s.to), why.History{Events: h.events()})
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
