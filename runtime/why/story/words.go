package story

import (
	"strconv"
	"strings"

	"ppscript/runtime/result"
	"ppscript/runtime/why"
)

// This file makes the texts of links and paths.

// Phrase returns the text of a link, without its thread:
//
//	system call openat
//	futex 0x7f12, held by worker-3/4713
//	runnable behind cc1/99 of another process
//	runnable behind cc1/99 of unit cron.service
//	runnable behind kworker/0:1/77 of the kernel (work vmstat_update)
func Phrase(l *result.WhyLink) string {
	switch l.Kind {
	case result.WhyUnknown:
		return colon("unknown", l.What)
	case result.WhySyscall:
		return behind("system call", l.What)
	case result.WhyKernel, result.WhyCPU:
		return colon(l.Kind.String(), l.What)
	case result.WhyFault:
		if l.What != "" {
			return l.What + " page fault"
		}
		return "page fault"
	case result.WhyIRQ, result.WhySoftirq:
		return behind(l.Kind.String(), l.What)
	case result.WhySteal:
		return colon("stolen by the hypervisor", l.What)
	case result.WhyBehind:
		who := Thread(&l.Whom)
		switch {
		case who == "":
			return colon("runnable behind others", l.What)
		}
		return behind("runnable behind "+who+ownerOf(l), paren(l.What))
	case result.WhyQuota:
		if l.What != "" {
			return "held by the CPU quota of " + l.What
		}
		return "held by a CPU quota"
	case result.WhyIdle:
		return behind("idle CPU slow to wake", l.What)
	case result.WhyFutex, result.WhyLock:
		name := l.What
		if !strings.HasPrefix(name, l.Kind.String()) {
			name = behind(l.Kind.String(), name)
		}
		return by(behind(name, paren(l.File)), ", held by ", l)
	case result.WhyDisk:
		if l.File != "" {
			return behind("disk", l.What) + " of " + l.File
		}
		return behind("disk", l.What)
	case result.WhyNetwork:
		return by(colon("network", call(l)), ", from ", l)
	case result.WhyTimer:
		if timeout(l) {
			return "timeout of " + call(l)
		}
		return colon("timer", call(l))
	case result.WhyThread:
		who := Thread(&l.Whom)
		if who == "" {
			who = "another thread"
		} else {
			who += ownerOf(l)
		}
		if l.What == why.NotBegun {
			return "waiting to be started by " + who
		}
		if l.What != "" {
			return "waiting for " + who + " (" + call(l) + ")"
		}
		return "waiting for " + who
	}
	return by(colon(l.Kind.String(), call(l)), ", woken by ", l)
}

// call returns a system call with its file: "read(5: pipe), woken by write", or for several spans
// "read(pipe)".
func call(l *result.WhyLink) string {
	if l.File == "" {
		return l.What
	}
	name, rest := l.What, ""
	if i := strings.IndexByte(name, ','); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	file := l.File
	if i := strings.Index(name, why.OfFD); i >= 0 {
		name, file = name[:i], name[i+len(why.OfFD):]+": "+file
	}
	return name + "(" + file + ")" + rest
}

// timeout reports whether a timer ended a wait that was mainly for something
// else.
func timeout(l *result.WhyLink) bool { return l.What != "" && !strings.Contains(l.What, "sleep") }

func behind(kind, what string) string {
	if what == "" {
		return kind
	}
	return kind + " " + what
}

func paren(what string) string {
	if what == "" {
		return ""
	}
	return "(" + what + ")"
}

func colon(kind, what string) string {
	if what == "" {
		return kind
	}
	return kind + ": " + what
}

// by appends the thread that was waited for, if it is known.
func by(phrase, how string, l *result.WhyLink) string {
	who := Thread(&l.Whom)
	if who == "" {
		return phrase
	}
	return phrase + how + who + ownerOf(l)
}

// ownerOf returns the owner of the thread that was waited for, if it is not in the
// same process.
func ownerOf(l *result.WhyLink) string {
	switch {
	case l.Kernel:
		return " of the kernel"
	case l.Cgroup != "":
		return " of " + l.Cgroup
	case l.Foreign:
		return " of another process"
	}
	return ""
}

// Thread returns the name of a thread, "worker-3/4713"; without the tid if it
// stands for several threads.
func Thread(t *result.WhyTask) string {
	if t.TID == 0 {
		return t.Comm
	}
	if t.Comm == "" {
		return strconv.Itoa(int(t.TID))
	}
	return t.Comm + "/" + strconv.Itoa(int(t.TID))
}

// between separates the links of a path in one line.
const between = " > "

// Path returns a path in one line: each link, with its thread unless the link before has named
// it.
func Path(path []result.WhyLink) string {
	var b strings.Builder
	for i := range path {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(link(path, i))
	}
	return b.String()
}

// link returns the text of link i of a path.
func link(path []result.WhyLink, i int) string {
	l := &path[i]
	if i == 0 || l.Task == path[i-1].Whom || l.Task == (result.WhyTask{}) {
		return Phrase(l)
	}
	return Thread(&l.Task) + ": " + Phrase(l)
}

// Doing returns the activity of a link's thread as a phrase for use after "is" or "was": "waiting
// for disk vdb read".
func Doing(l *result.WhyLink) string {
	switch l.Kind {
	case result.WhyUser:
		return "running " + Phrase(l)
	case result.WhySyscall, result.WhyIRQ, result.WhySoftirq:
		return "in " + Phrase(l)
	case result.WhyKernel:
		return colon("in the kernel", l.What)
	case result.WhyFault:
		return "in " + Phrase(l) + "s"
	case result.WhyBehind:
		return "waiting for a CPU" + strings.TrimPrefix(Phrase(l), "runnable")
	case result.WhyIdle:
		return behind("waiting for an idle CPU to wake", l.What)
	case result.WhyTimer:
		if timeout(l) {
			return "waiting for the " + Phrase(l)
		}
		return "waiting for " + Phrase(l)
	case result.WhyFutex, result.WhyLock, result.WhyDisk, result.WhyNetwork:
		return "waiting for " + Phrase(l)
	}
	return Phrase(l)
}
