package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// countKnown is a script that counts the calls whose number is known.
const countKnown = "-e raw_syscalls:sys_enter/id==110&&comm~\"" + knownComm + "*\"/key=pid/ -i 1s " +
	"--format json"

// steady are the profilers that run all the time; the ones that count the known calls come
// first.
var steady = []struct {
	args string
	room bool // it runs in the cgroup of 100 MB
}{
	{"top --engine bpf " + countKnown, true},
	{"top --engine perf " + countKnown, false},
	{"task-state --perins -i 1s", false},
	{"profile -F 199 -g --top 5 -i 1s", false},
}

// startPatience bounds the start of all profilers: it takes a minute of CPU time in a guest, which may
// get a third of a CPU.
const startPatience = 5 * time.Minute

// A profiler is one that runs all the time.
type profiler struct {
	args     string
	cmd      *exec.Cmd
	out      *os.File
	stderr   bytes.Buffer
	exited   chan error
	quarters [4]processUse // the largest use in each quarter of the time
}

// processUse is the memory, files and threads of a process.
type processUse struct{ resident, files, threads int }

func (u *processUse) most(v processUse) {
	u.resident, u.files = max(u.resident, v.resident), max(u.files, v.files)
	u.threads = max(u.threads, v.threads)
}

// startSteady starts the profilers and waits until those that count are attached.
func (s *scene) startSteady(ctx context.Context, in *room) (list []*profiler, err error) {
	for i, what := range steady {
		p := &profiler{args: what.args, exited: make(chan error, 1)}
		if p.out, err = os.Create(filepath.Join(s.out, strconv.Itoa(i))); err != nil {
			return list, err
		}
		command := append([]string{s.ppscript}, append(strings.Fields(what.args), "-v")...)
		if what.room {
			command = in.enter(-900, command)
		}
		p.cmd = group(exec.Command(command[0], command[1:]...))
		p.cmd.Stdout, p.cmd.Stderr = p.out, &p.stderr
		p.cmd.Env = append(os.Environ(), "TMPDIR="+s.tmp)
		if err := p.cmd.Start(); err != nil {
			return list, err
		}
		go func() { p.exited <- p.cmd.Wait() }()
		list = append(list, p)
	}
	// Each attached profiler prints a table each second.
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		var silent []string
		for _, p := range list {
			if st, err := p.out.Stat(); err != nil || st.Size() == 0 {
				silent = append(silent, p.args)
			}
		}
		switch {
		case len(silent) == 0:
			return list, nil
		case ctx.Err() != nil || time.Since(begin) > startPatience:
			stopAll(list)
			for _, p := range list {
				if slices.Contains(silent, p.args) {
					err = errors.Join(err, fmt.Errorf("%s shows nothing: %s", p.args, &p.stderr))
				}
			}
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// watch measures the profilers' use of memory, files and threads until the time
// is over.
func watch(ctx context.Context, list []*profiler, length time.Duration) {
	begin := time.Now()
	tick := time.NewTicker(min(length/40, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		passed := time.Since(begin)
		if passed >= length {
			return
		}
		for _, p := range list {
			if !p.counts() {
				p.out.Truncate(0) // this output is not read, and hours of it would fill a disk
			}
			p.quarters[4*passed/length].most(usedBy(p.cmd.Process.Pid))
		}
	}
}

// usedBy returns the current use of a process: memory in KiB, open files,
// threads.
func usedBy(pid int) (u processUse) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	text, _ := os.ReadFile(dir + "status") // a process that has ended uses nothing
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			fmt.Sscan(rest, &u.resident)
		}
		if rest, ok := strings.CutPrefix(line, "Threads:"); ok {
			fmt.Sscan(rest, &u.threads)
		}
	}
	files, _ := os.ReadDir(dir + "fd")
	u.files = len(files)
	return u
}

// stopAll ends the profilers as users do.
func stopAll(list []*profiler) (wrong []string) {
	for _, p := range list {
		p.cmd.Process.Signal(syscall.SIGINT)
	}
	for _, p := range list {
		select {
		case err := <-p.exited:
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v: %s", p.args, err, &p.stderr))
			}
		case <-time.After(time.Minute):
			killGroup(p.cmd)
			<-p.exited
			wrong = append(wrong, p.args+": did not end within a minute of SIGINT")
		}
	}
	return wrong
}

// counts reports whether the profiler counts the known calls.
func (p *profiler) counts() bool { return strings.Contains(p.args, knownComm) }

func killGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// warm is the time after which growth is no longer due to caches that fill.
const warm = time.Minute

// judge returns a profiler's use and its faults: a wrong count of the known calls, and in a long
// run growth from the second quarter of the time to the last.
func (p *profiler) judge(known int64, long bool) (wrong []string) {
	defer p.out.Close()
	a, z := p.quarters[1], p.quarters[3]
	fmt.Printf("%s\n   ", p.args)
	for _, q := range p.quarters {
		fmt.Printf(" %d MiB, %d files, %d threads;", q.resident>>10, q.files, q.threads)
	}
	fmt.Println()
	if long && (z.resident > a.resident+a.resident/4+16<<10 || z.files > a.files+a.files/4+8 ||
		z.threads > a.threads+4) {
		wrong = append(wrong, fmt.Sprintf("%s: grew from %+v to %+v", p.args, a, z))
	}
	if !p.counts() {
		return wrong
	}
	counted, missing, odd, err := counts(p.out.Name())
	fmt.Printf("    counted %d of %d, %d told as missing\n", counted, known, missing)
	switch {
	case err != nil:
		wrong = append(wrong, fmt.Sprintf("%s: %v", p.args, err))
	case counted > known || counted+missing < known || known == 0:
		wrong = append(wrong, fmt.Sprintf("%s: counted %d of %d, and %d are said to be missing:\n%s", p.args,
			counted, known, missing, strings.Join(odd[:min(len(odd), mostOdd)], "\n")))
	}
	return wrong
}

// mostOdd is the largest number of processes that are named because their calls
// were not all counted.
const mostOdd = 20

// counts returns the sum over the rows of all tables, and the number of missing events at the end
// of the output. Odd are the processes whose counted calls differ from their real number, with the
// times.
func counts(name string) (counted, missing int64, odd []string, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, nil, err
	}
	type told struct {
		calls int64
		when  string
		loss  map[string]int64
	}
	by := map[int64]*told{}
	ended := false
	for line := range bytes.Lines(text) {
		var r struct {
			Type string
			Data struct {
				Missing int64
				Wall    string
				Loss    map[string]int64
				Rows    []struct {
					Calls int64 `json:"SYS_ENTER"`
					PID   int64
				}
			}
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return 0, 0, nil, fmt.Errorf("read its output: %w", err)
		}
		for _, row := range r.Data.Rows {
			counted += row.Calls
			if by[row.PID] == nil {
				by[row.PID] = &told{}
			}
			of := by[row.PID]
			of.calls, of.when, of.loss = of.calls+row.Calls, r.Data.Wall, r.Data.Loss
		}
		if r.Type == "end" {
			ended, missing = true, r.Data.Missing
		}
	}
	if !ended {
		return counted, 0, nil, errors.New("its output has no end")
	}
	for _, pid := range slices.Sorted(maps.Keys(by)) {
		if of := by[pid]; of.calls != knownCalls {
			odd = append(odd, fmt.Sprintf("process %d: %d calls, the last in the interval until %s, where "+
				"%v were missing", pid, of.calls, of.when, of.loss))
		}
	}
	return counted, missing, odd, nil
}
