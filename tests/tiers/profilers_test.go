package tiers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// profilers are those whose tables the kernel makes, with the columns that do
// not tell times: those differ by what the two tiers take.
var profilers = []struct {
	args    []string
	columns []string
}{
	{[]string{"top", "-e", "raw_syscalls:sys_enter//key=id/"}, []string{"ID", "SYS_ENTER"}},
	{[]string{"syscalls"}, []string{"syscalls", "calls", "err"}},
	{[]string{"num-dist", "-e", "raw_syscalls:sys_exit//num=ret/"}, []string{"event", "calls", "total", "min", "max"}},
	{[]string{"multi-trace", "-e", "raw_syscalls:sys_enter//key=common_pid/", "-e", "raw_syscalls:sys_exit//key=common_pid/"}, []string{"start", "end", "calls"}},
	{[]string{"oncpu", "--per-cpu"}, []string{"comm"}},
	{[]string{"rundelay", "--perins"}, []string{"comm", "end"}},
	{[]string{"sched-migrate"}, []string{"comm"}},
	{[]string{"kvm-exit", "--perins"}, []string{"thread", "exit_reason", "calls"}},
	{[]string{"bpf:kvm_exit", "--perins", "--threshold", "0"}, []string{"process", "thread", "exit_reason", "calls"}},
}

// Profilers that fit into the kernel show what they show without it, of the
// same run of a program.
func TestProfilersAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	for _, p := range profilers {
		t.Run(p.args[0], func(t *testing.T) {
			testkit.Again(t, func() []string { return profilerInBoth(t, p.args, p.columns) })
		})
	}
}

func profilerInBoth(t *testing.T, args, columns []string) (wrong []string) {
	t.Helper()
	l := testkit.StartTarget(t, "-getppid", "500", "-sleep", "20", "-fail", "30", "-switch", "50")
	var both []*testkit.Process
	for _, engine := range []string{"bpf", "perf"} {
		tracer := testkit.Start(t, slices.Concat([]string{testkit.PPScript(t)}, args,
			[]string{"--engine", engine, "--format", "json", "-v", "-p", strconv.Itoa(l.PID())})...)
		tracer.WaitStderr(" open event")
		both = append(both, tracer)
	}
	l.Do()
	kernel := chosen(t, both[0].Stop().Want(t, 0).Stdout, columns)
	native := chosen(t, both[1].Stop().Want(t, 0).Stdout, columns)
	l.End()
	if !slices.Equal(kernel, native) {
		wrong = append(wrong, fmt.Sprintf("got\n%s\nwant\n%s", strings.Join(kernel, "\n"), strings.Join(native, "\n")))
	}
	return wrong
}

// chosen are the rows of all tables, as texts of some columns, each once.
func chosen(t *testing.T, out string, columns []string) []string {
	t.Helper()
	var rows []string
	for _, table := range testkit.Tables(t, out) {
		for _, r := range table.Rows {
			var row []string
			for _, c := range columns {
				if v, ok := r[c]; ok {
					row = append(row, fmt.Sprintf("%s=%v", c, v))
				}
			}
			rows = append(rows, strings.Join(row, " "))
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}
