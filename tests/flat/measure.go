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

// memory is what a run held, in bytes.
type memory struct{ third, end, most int64 }

// grew allows for what a garbage collector leaves.
func (m memory) grew() bool { return m.end > m.third+m.third/10+8<<20 }

// measure runs a profiler beside the loads. What it prints goes to a file that
// is thrown away.
func measure(ctx context.Context, ppscript, dir string, loads [][]string, length time.Duration, args []string) (m memory, err error) {
	ctx, cancel := context.WithTimeout(ctx, length+30*time.Second)
	defer cancel()
	for _, l := range loads {
		cmd := group(exec.CommandContext(ctx, l[0], l[1:]...))
		if err := cmd.Start(); err != nil {
			return m, err
		}
		defer func() {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			cmd.Wait() // it was killed: its status says so
		}()
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		return m, err
	}
	defer out.Close()
	var stderr bytes.Buffer
	cmd := group(exec.CommandContext(ctx, ppscript, append(args, "--duration", fmt.Sprintf("%.0fs", length.Seconds()))...))
	cmd.Stdout, cmd.Stderr = out, &stderr
	if err := cmd.Start(); err != nil {
		return m, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	began := time.Now()
	tick := time.NewTicker(length / 60)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
			}
			return m, err
		case <-tick.C:
			now := resident(cmd.Process.Pid)
			if now == 0 {
				continue // it is about to end
			}
			if m.end, m.most = now, max(m.most, now); time.Since(began) <= length/3 {
				m.third = now
			}
			// Lines of logs are many: what was printed is not kept.
			if err := out.Truncate(0); err != nil {
				return m, err
			}
		}
	}
}

func group(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// resident is the memory that a process has now; 0 if it has ended.
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
