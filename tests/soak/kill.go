package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// doomed are the command lines of ppscript that are killed; $PID is the observed process.
var doomed = []string{
	"syscalls --engine bpf -p $PID -i 100ms",
	"syscalls --engine perf -i 100ms",
	"profile -F 499 -g --top 5 -i 1s",
	"profile -F 499 -g -p $PID --user-callchain=dwarf",
	"task-state --perins -p $PID -i 100ms",
	"multi-trace -k common_pid -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit --than 1ms --detail=samecpu -i 1s",
	"page-faults -g --top 5 -i 1s",
	"record -e sched:sched_switch -g -o $OUT/killed.data",
	"record --flight 2s -e raw_syscalls:sys_enter -o $OUT/flight.data",
	"top --engine bpf -e sched:sched_switch//key=next_pid/ -i 100ms",
	"trace -e sched:sched_process_exec,sched:sched_process_exit -g",
}

// A killer kills the processes that it started.
type killer struct {
	wg           sync.WaitGroup
	killed, ours int
	wrong        []string
}

func (k *killer) wait() { k.wg.Wait() }

// killAtRandom keeps one run of ppscript and one observed process running, and kills the
// one or the other at random.
func (s *scene) killAtRandom(ctx context.Context) *killer {
	k := &killer{}
	k.wg.Go(func() {
		r := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano())))
		var watched, one *exec.Cmd
		var said bytes.Buffer
		defer func() { end(watched); end(one) }()
		each := s.length / time.Duration(s.kills+1)
		for ctx.Err() == nil {
			if watched == nil {
				watched = group(exec.Command("sh", "-c", "while :; do "+s.load+
					" -cpus 2 -getppid 2000 -switch 200 -sleep 100 -fault 200; done"))
				if err := watched.Start(); err != nil {
					k.wrong = append(k.wrong, err.Error())
					return
				}
			}
			if one == nil {
				line := strings.NewReplacer("$PID", strconv.Itoa(watched.Process.Pid), "$OUT", s.out).
					Replace(doomed[r.IntN(len(doomed))])
				one = group(exec.Command(s.ppscript, strings.Fields(line)...))
				said.Reset()
				one.Env, one.Stderr = append(os.Environ(), "TMPDIR="+s.tmp), &said
				if err := one.Start(); err != nil {
					k.wrong = append(k.wrong, err.Error())
					return
				}
			}
			// The kill comes while ppscript starts, while it works, or while it
			// reports.
			select {
			case <-ctx.Done():
				return
			case <-time.After(each/2 + time.Duration(r.Int64N(int64(each)))):
			}
			if r.IntN(3) > 0 {
				// The observed process may have ended.
				if !end(one) && !strings.Contains(strings.Join(one.Args, " "), " -p ") {
					k.wrong = append(k.wrong, fmt.Sprintf("ended before it was killed: %s: %s", one, &said))
				}
				one = nil
				k.ours++
			} else {
				end(watched)
				watched = nil
				// Its tracer may end with it, or goes on without events.
				if r.IntN(2) > 0 {
					end(one)
					one = nil
				}
			}
			k.killed++
			for _, name := range []string{"killed.data", "flight.data"} {
				os.Remove(filepath.Join(s.out, name)) // an output file, which may be large
			}
		}
	})
	return k
}

// end kills a process and all its children; false if it had ended already.
func end(cmd *exec.Cmd) (ran bool) {
	if cmd == nil {
		return false
	}
	killGroup(cmd)
	err := cmd.Wait()
	return err != nil && strings.Contains(err.Error(), "killed")
}
