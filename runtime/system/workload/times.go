package workload

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// This file measures the times of the command like the shell's time. When a child has ended, the
// kernel reports the exact CPU time of the child and of the children that it waited for. Before
// that, the times are read from /proc, in ticks.

// Times has the elapsed time since a command was released, and its CPU time in user code and in the
// kernel, including children that it waited for.
type Times struct{ Elapsed, User, System time.Duration }

const (
	tick     = 10 * time.Millisecond // unit of /proc: USER_HZ is 100 on all machines
	lastWait = time.Second           // longest wait for a command that is ending
	exiting  = 4                     // PF_EXITING of include/linux/sched.h
)

// Times measures the command. If the command is ending, it waits for the end.
func (c *Command) Times() (t Times, err error) {
	if c.child.began.IsZero() {
		return t, nil // the command is still held
	}
	stat, err := c.procStat()
	if err != nil || stat.gone {
		select {
		case <-c.child.ended:
		case <-time.After(lastWait):
		}
	}
	t = Times{time.Since(c.child.began), stat.user, stat.system}
	if st, ok := c.Status(); ok {
		t, err = Times{c.child.over.Sub(c.child.began), st.UserTime(), st.SystemTime()}, nil
	}
	// The kernel estimates the parts of user code and kernel by sampling, so either may decrease.
	t.User, t.System = max(0, t.User-c.child.before.User), max(0, t.System-c.child.before.System)
	return t, err
}

type procStat struct {
	gone         bool // the command is ending, or a zombie
	user, system time.Duration
}

// procStat reads the state and times of the command from /proc.
func (c *Command) procStat() (s procStat, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID()))
	if err != nil {
		return s, err
	}
	// The name, in parentheses, may have spaces; the state is the field after it, the third of
	// all.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 15 {
		return s, fmt.Errorf("/proc/%d/stat: got %d fields, want 17 at least", c.PID(), len(fields)+2)
	}
	number := func(i int) uint64 {
		n, e := strconv.ParseUint(string(fields[i-3]), 10, 64)
		if e != nil {
			err = e
		}
		return n
	}
	s.gone = fields[0][0] == 'Z' || fields[0][0] == 'X' || number(9)&exiting != 0
	s.user = time.Duration(number(14)+number(16)) * tick
	s.system = time.Duration(number(15)+number(17)) * tick
	return s, err
}
