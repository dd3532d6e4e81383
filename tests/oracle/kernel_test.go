package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"ppscript/tests/testkit"
)

// A program on a tracepoint can hide its hits from every other user of the
// machine. Ours do not, whatever they select: perf stat sees all.
func TestProgramsHideNothing(t *testing.T) {
	live(t, testkit.Perf, testkit.AMD64)
	const calls = 3000
	l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls), "-switch", "500")
	var ours []*testkit.Process
	for _, program := range []string{
		`tracepoint("raw_syscalls:sys_enter").where("id == 9999").count()`,
		`tracepoint("syscalls:sys_enter_getppid").where("__syscall_nr == 9999").count()`,
		`tracepoint("sched:sched_switch").where("prev_comm == \"nobody\"").by("prev_comm").count()`,
		`tracepoint("sched:sched_switch").by(x = "1 / (prev_prio - prev_prio)").count()`,
		`join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit")], key = "tid").by("start.id").agg(p = agg.quantile("delay", 0.9))`,
	} {
		ours = append(ours, attach(t, l, "--engine", "bpf", "-c", program))
	}
	quiet := attachPerf(t, l, "stat", "-x,", "-e", "syscalls:sys_enter_getppid", "-e", "sched:sched_switch")
	native := attach(t, l, "--engine", "perf", "--format", "json", "-c", `tracepoint("sched:sched_switch").count()`)
	l.Do()
	counts := perfCounts(t, quiet.end())
	switches := last(t, native.Stop().Want(t, 0).Stdout).Rows[0].Int(t, "count")
	for _, p := range ours {
		p.Stop().Want(t, 0)
	}
	l.End()
	if counts["syscalls:sys_enter_getppid"] != calls {
		t.Errorf("perf stat: got %d calls, want %d", counts["syscalls:sys_enter_getppid"], calls)
	}
	// The two are not attached at the same moment.
	if s := counts["sched:sched_switch"]; s < 1000 || s-switches > 20 || switches-s > 20 {
		t.Errorf("perf stat: got %d switches, want the %d of our native tier", s, switches)
	}
}

// kill -9 leaves no program, map or link behind.
func TestKilledLeavesNothing(t *testing.T) {
	live(t)
	l := testkit.StartTarget(t, "-getppid", "10")
	p := attach(t, l, "--engine", "bpf", "-c",
		`join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit"), tracepoint("sched:sched_process_exit")], key = "tid").by("start.id").agg(p = agg.quantile("delay", 0.9))`)
	ids := kernelObjects(t, p.PID())
	if len(ids["prog"]) < 3 || len(ids["map"]) < 4 || len(ids["link"]) < 2 {
		t.Fatalf("got %v, want programs, maps and links", ids)
	}
	p.Signal(syscall.SIGKILL)
	p.Wait()
	open := map[string]func(id uint32) error{
		"prog": func(id uint32) error { x, err := ebpf.NewProgramFromID(ebpf.ProgramID(id)); x.Close(); return err },
		"map":  func(id uint32) error { x, err := ebpf.NewMapFromID(ebpf.MapID(id)); x.Close(); return err },
		"link": func(id uint32) error { _, err := link.NewFromID(link.ID(id)); return err },
	}
	for kind, list := range ids {
		for _, id := range list {
			// The kernel frees them a grace period later.
			for deadline := time.Now().Add(10 * time.Second); open[kind](id) == nil; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Errorf("%s %d is still there", kind, id)
					break
				}
			}
		}
	}
	l.Do()
	l.End()
}

var fdinfoID = regexp.MustCompile(`(?m)^(prog|map|link)_id:\t(\d+)$`)

// kernelObjects are the ids of what a process holds.
func kernelObjects(t *testing.T, pid int) map[string][]uint32 {
	t.Helper()
	ids := map[string][]uint32{}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for _, m := range fdinfoID.FindAllStringSubmatch(string(text), -1) {
			id, _ := strconv.ParseUint(m[2], 10, 32)
			ids[m[1]] = append(ids[m[1]], uint32(id))
		}
	}
	return ids
}
