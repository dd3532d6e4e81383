package workload

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// This file measures the command as time of a shell does: the kernel tells the parent what a child and
// those that it waited for took, exactly, once it has ended; before that /proc does, in ticks.

// Times are a command's times: since it was let go, in user code and in the kernel, with the children that
// it waited for.
type Times struct{ Elapsed, User, System time.Duration }

const (
	tick     = 10 * time.Millisecond // of /proc: USER_HZ is 100 on all machines
	lastWait = time.Second           // for a command that is on its way out
	exiting  = 4                     // PF_EXITING of include/linux/sched.h
)

// Times measures the command; of one that ends at this moment it waits for the end.
func (c *Command) Times() (t Times, err error) {
	if c.child.began.IsZero() {
		return t, nil // it is held
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
	// The kernel divides the time between user code and itself by what it samples, so that either may shrink.
	t.User, t.System = max(0, t.User-c.child.before.User), max(0, t.System-c.child.before.System)
	return t, err
}

type procStat struct {
	gone         bool // it is on its way out, or a zombie
	user, system time.Duration
}

// procStat reads what /proc tells of the command.
func (c *Command) procStat() (s procStat, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID()))
	if err != nil {
		return s, err
	}
	// The name, in parentheses, may have spaces; state is the field behind it, the third of all.
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
