package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// A memory is the memory of a run at one time, in bytes: the resident memory,
// and the live heap at the last collection.
type memory struct{ resident, live int64 }

// A course is the memory of a run over time.
type course struct {
	at       [len(moments)]memory
	quarters [4]mean
	most     int64   // resident
	switches float64 // context switches of the machine in a second
	starts   float64 // new processes and threads in a second
}

// A mean adds up the memory of a run in a part of its time.
type mean struct {
	sum memory
	n   int64
}

func (m *mean) add(now memory) {
	m.sum.resident += now.resident
	m.sum.live += now.live
	m.n++
}

func (m *mean) of() memory { return memory{m.sum.resident / max(m.n, 1), m.sum.live / max(m.n, 1)} }

// moments are the shares of a run's time at which its memory is shown: 10 s, 30
// s and 60 s of a minute.
var moments = [...]float64{1.0 / 6, 1.0 / 2, 1}

// grew reports whether memory grew from the second quarter of the run to the
// last. It compares averages, because memory that is kept while the slowest
// event waits goes up and down. Both sizes must grow: resident memory can be
// twice the live heap, because the collector runs when the heap has doubled.
func (c *course) grew() bool {
	before, after := c.quarters[1].of(), c.quarters[3].of()
	return after.resident > before.resident+before.resident/10+8<<20 &&
		after.live > before.live+before.live/10
}

// measure runs a profiler during the loads. Its output goes to a file that is
// thrown away.
func measure(ctx context.Context, ppscript, dir string, loads [][]string, length time.Duration,
	args []string) (c course, err error) {
	ctx, cancel := context.WithTimeout(ctx, length+30*time.Second)
	defer cancel()
	for _, l := range loads {
		cmd := group(exec.CommandContext(ctx, l[0], l[1:]...))
		if err := cmd.Start(); err != nil {
			return c, err
		}
		defer func() {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			cmd.Wait() // it was killed: its status says so
		}()
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		return c, err
	}
	defer out.Close()
	var stderr gctrace
	cmd := group(exec.CommandContext(ctx, ppscript,
		append(args, "--duration", fmt.Sprintf("%.0fs", length.Seconds()))...))
	cmd.Stdout, cmd.Stderr, cmd.Env = out, &stderr, append(os.Environ(), "GODEBUG=gctrace=1")
	before := counted()
	if err := cmd.Start(); err != nil {
		return c, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	began := time.Now()
	tick := time.NewTicker(length / 60)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			passed, after := time.Since(began).Seconds(), counted()
			c.switches, c.starts = float64(after.switches-before.switches)/passed,
				float64(after.starts-before.starts)/passed
			if err != nil {
				err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.output))
			}
			return c, err
		case <-tick.C:
			now := memory{resident(cmd.Process.Pid), stderr.now()}
			if now.resident == 0 {
				continue // it is about to end
			}
			c.most = max(c.most, now.resident)
			passed := time.Since(began).Seconds() / length.Seconds()
			c.quarters[min(3, int(4*passed))].add(now)
			for i := len(moments) - 1; i >= 0 && (i == len(moments)-1 || passed <= moments[i]); i-- {
				c.at[i] = now
			}
			// Logs have many lines, so the output is not kept.
			if err := out.Truncate(0); err != nil {
				return c, err
			}
		}
	}
}

func group(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// resident returns the resident memory of a process; 0 if it has ended.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// counts returns the counters of the whole machine in /proc/stat.
type counts struct{ switches, starts uint64 }

func counted() (c counts) {
	text, _ := os.ReadFile("/proc/stat") // without it the rates are 0
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) != 2 {
			continue
		}
		n, _ := strconv.ParseUint(string(fields[1]), 10, 64)
		switch string(fields[0]) {
		case "ctxt":
			c.switches = n
		case "processes":
			c.starts = n
		}
	}
	return c
}
