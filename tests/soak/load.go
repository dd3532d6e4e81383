package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A load is the other work of the machine.
type load struct {
	wg      sync.WaitGroup
	started atomic.Int64 // number of processes that were started
	known   atomic.Int64 // calls of getppid by threads with the name known-N
}

// knownComm is the beginning of the names of the threads whose number of calls is known; each
// process makes the same number of calls.
const (
	knownComm  = "soaked"
	knownCalls = 1000
)

func (l *load) wait() { l.wg.Wait() }

// The load has a niceness, so that the measured runs go first. Within the load, the
// starting of processes goes first.
const niceness, startNiceness = 19, 10

// startLoad starts the whole load; it ends with the context.
func (s *scene) startLoad(ctx context.Context, in *room) (*load, error) {
	l := &load{}
	commands := [][]string{{s.load, "-cpus", strconv.Itoa(runtime.NumCPU()), "-switch", "2000", "-sleep",
		"200", "-fault", "2000", "-fail", "2000"}}
	if s.stress {
		if _, err := exec.LookPath("stress-ng"); err != nil {
			return nil, fmt.Errorf("%w; install it, or run with -stress=false", err)
		}
		commands = [][]string{
			strings.Fields("stress-ng --quiet --cpu 1 --switch 1 --futex 1 --fault 1 --pthread 1 --sock 1" +
				" --timer 1 --exec 1 --mmap 1 --mmap-bytes 64m --timeout 1h"),
		}
		if in != nil {
			commands = append(commands,
				in.enter(500, strings.Fields("stress-ng --quiet --vm 1 --vm-bytes 80m --timeout 1h")))
		}
	}
	for _, c := range commands {
		l.again(ctx, append([]string{"nice", "-n", strconv.Itoa(niceness)}, c...))
	}
	l.wg.Go(func() { l.fork(ctx, s.forks) })
	l.wg.Go(func() { l.know(ctx, s.load) })
	return l, nil
}

// again runs a command again whenever it has ended.
func (l *load) again(ctx context.Context, command []string) {
	l.wg.Go(func() {
		for ctx.Err() == nil {
			cmd := group(exec.CommandContext(ctx, command[0], command[1:]...))
			cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
			cmd.Run() // it was killed, or memory was short
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

// fork starts processes that end at once, at a lower priority than the measured
// runs: on a busy machine they may be fewer than asked for each second.
func (l *load) fork(ctx context.Context, each int) {
	const step = 20 * time.Millisecond
	// A process has the niceness of the thread that starts it. The thread ends with
	// this function.
	runtime.LockOSThread()
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), startNiceness); err != nil {
		fmt.Println("the processes that start all the time are not nice:", err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	begin := time.Now()
	for tick := time.Tick(step); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		// If the machine has fallen behind, it does not catch up, because that would
		// be a burst.
		due := int64(time.Since(begin).Seconds() * float64(each))
		for n := min(due-l.started.Load(), int64(each)/10+1); n > 0; n-- {
			cmd := exec.Command("/bin/true")
			if cmd.Start() == nil {
				l.started.Add(1)
				wg.Go(func() { cmd.Wait() })
			}
		}
	}
}

// know makes a known number of calls, the same number each second.
func (l *load) know(ctx context.Context, program string) {
	for ctx.Err() == nil {
		cmd := group(exec.Command(program, "-comm", knownComm, "-getppid", strconv.Itoa(knownCalls)))
		if cmd.Run() == nil {
			l.known.Add(knownCalls)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// group gives a command a process group of its own, which is killed when this
// process ends.
func group(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}
