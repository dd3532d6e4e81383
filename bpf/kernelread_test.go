package bpf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/kerneltype"
	"ppscript/tests/testkit"
)

// memory is the kernel's memory for expressions of these tests.
func memory(t *testing.T) *expr.Kernel {
	t.Helper()
	testkit.Requires(t, testkit.BTF)
	return expr.NewKernel(kerneltype.Running())
}

// reading compiles a C expression that may read the kernel's memory.
func reading(t testing.TB, m *expr.Kernel, s *event.Schema, text string) expr.Node {
	t.Helper()
	p, err := cexpr.Compile(text, &expr.Scope{Schema: s, Services: expr.Services{Kernel: m}})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p.Node
}

// ourselves are expressions about the running task, and what /proc and system calls
// say of it. The thread must be locked.
func ourselves(t *testing.T, m *expr.Kernel) map[string]string {
	t.Helper()
	tid, pid, ppid := unix.Gettid(), os.Getpid(), os.Getppid()
	proc := func(format string, args ...any) string {
		b, err := os.ReadFile(fmt.Sprintf(format, args...))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(string(b), "\n")
	}
	var files unix.Rlimit
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
	if err == nil {
		err = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	}
	exe, errExe := os.Readlink("/proc/self/exe")
	cwd, errCwd := os.Getwd()
	if err != nil || errExe != nil || errCwd != nil {
		t.Fatal(err, errExe, errCwd)
	}
	comm := proc("/proc/self/task/%d/comm", tid)
	arguments := fmt.Sprint(len(proc("/proc/self/cmdline")))
	want := map[string]string{
		"task()->pid":                                                    fmt.Sprint(tid),
		"task()->comm":                                                   comm,
		`task()->comm ~ "` + comm[:1] + `*"`:                             "1",
		"task()->comm[0]":                                                fmt.Sprint(comm[0]),
		"task()->real_parent->tgid":                                      fmt.Sprint(ppid),
		"task()->real_parent->group_leader->comm":                        proc("/proc/%d/comm", ppid),
		"task()->static_prio":                                            fmt.Sprint(120 + 20 - nice),
		"task()->mm->arg_end - task()->mm->arg_start":                    arguments,
		"task()->signal->oom_score_adj":                                  proc("/proc/self/oom_score_adj"),
		"task()->cred->uid.val":                                          fmt.Sprint(os.Getuid()),
		"task()->nsproxy->uts_ns->name.nodename":                         proc("/proc/sys/kernel/hostname"),
		"task()->signal->rlim[7].rlim_cur":                               fmt.Sprint(files.Cur),
		"task()->signal->pids[PIDTYPE_TGID]->numbers[0].nr":              fmt.Sprint(pid),
		"task()->signal->pids[common_pid - common_pid + 1]->numbers->nr": fmt.Sprint(pid),
		"task()->mm->exe_file->f_path.dentry->d_name.name":               filepath.Base(exe),
		"kernel_string(task()->fs->pwd.dentry->d_name.name)":             filepath.Base(cwd),
		"task()->sched_reset_on_fork":                                    "1",
		"container_of(&task()->se, \"struct task_struct\", \"se\")->pid": fmt.Sprint(tid),
		"cast(task()->real_parent, \"struct task_struct *\")->tgid":      fmt.Sprint(ppid),
		"((struct task_struct *)task()->real_parent)->tgid":              fmt.Sprint(ppid),
		"*(int *)&task()->tgid":                                          fmt.Sprint(pid),
		"task()->mm->exe_file->f_inode->i_sb->s_type->name[0] > 0":       "1",
	}
	if _, err := m.PerCPU("runqueues", nil); err == nil { // older kernels do not show them
		want[`per_cpu("runqueues")->curr->pid`] = fmt.Sprint(tid)
		want[`per_cpu("runqueues").cpu`] = "0"
		if otherCPUs(t) {
			want[`per_cpu("runqueues", 0).curr->pid`] = fmt.Sprint(tid)
			want[`per_cpu("runqueues", 0).cpu`] = "0"
		}
		if otherCPUs(t) && runtime.NumCPU() > 1 {
			want[`per_cpu("runqueues", 1).cpu`] = "1"
			want[`per_cpu("runqueues", 1 - task()->pid + `+fmt.Sprint(tid)+`)->cpu`] = "1"
			want[`per_cpu("runqueues", 1)->curr != per_cpu("runqueues", 0)->curr`] = "1"
		}
	}
	for text, path := range paths(t, exe, cwd) {
		want[text] = path
	}
	if b, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		for line := range strings.Lines(string(b)) {
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok && path != "/" {
				want["cgroup()->kn->name"] = filepath.Base(path)
			}
		}
	}
	return want
}

// paths are expressions for paths, and what /proc says of them.
func paths(t *testing.T, exe, cwd string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	open := func(name string) (fd int, path string) {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		path, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		return int(f.Fd()), path
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	want := map[string]string{
		"path(task()->fs->pwd)":                                                      cwd,
		"path(task()->mm->exe_file)":                                                 exe,
		"path(&task()->mm->exe_file->f_path)":                                        exe,
		`path(task()->mm->exe_file) ~ "*` + filepath.Base(exe) + `"`:                 "1",
		`path(task()->mm->exe_file->f_path.dentry) ~ "*/` + filepath.Base(exe) + `"`: "1",
		`path(task()->mm->exe_file->f_inode) ~ "*/` + filepath.Base(exe) + `"`:       "1",
		`path(task()->mm->exe_file->f_mapping) ~ "*/` + filepath.Base(exe) + `"`:     "1",
		"path(task()->fs->root)":                                                     "/",
		fmt.Sprintf("path(%d)", r.Fd()):                                              "pipefs:",
	}
	fd, path := open("file")
	want[fmt.Sprintf("path(%d)", fd)] = path
	want[fmt.Sprintf("path(common_pid - common_pid + %d)", fd)] = path

	// The longest name fits together with its directory no more: the begin is cut.
	long := strings.Repeat("n", 200)
	for range 2 {
		dir = filepath.Join(dir, long)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fd, _ = open("file")
	want[fmt.Sprintf("path(%d)", fd)] = ".../" + long + "/file"
	for range 40 {
		dir = filepath.Join(dir, "d")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fd, _ = open("file")
	want[fmt.Sprintf("path(%d)", fd)] = "..." + strings.Repeat("/d", 31) + "/file"
	return want
}

// otherCPUs reports that programs find the variables of other CPUs: from 5.19 on.
func otherCPUs(t *testing.T) bool {
	t.Helper()
	v, err := kernel.ReadVersion(kernel.Roots{})
	if err != nil {
		t.Fatal(err)
	}
	return v.AtLeast(5, 19)
}

// resetOnFork sets a flag of the thread that is a bit field of its task_struct.
func resetOnFork(t *testing.T) {
	t.Helper()
	attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if err := unix.SchedSetAttr(0, attr, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr}, 0); err != nil {
			t.Error(err)
		}
	})
}

// What programs read of the running task is what /proc says of it.
func TestKernelReadsAgreeWithProc(t *testing.T) {
	w := newWitness(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	resetOnFork(t)
	for text, want := range ourselves(t, w.mem) { // no tests of their own, which have other threads
		w.reads(t, text, want)
	}
}

// What is read is sent with fields of the record, and in front of whole records.
func TestKernelReadsAreSent(t *testing.T) {
	h, fs := live(t)
	m := memory(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	resetOnFork(t)
	want := ourselves(t, m)
	enter := schemaOf(t, fs, "raw_syscalls", "sys_enter")
	ours := node(t, enter, fmt.Sprintf("id == %d", unix.SYS_GETPPID))
	texts := []string{"task()->comm", "path(task()->mm->exe_file)", "task()->real_parent->tgid",
		"task()->real_parent->group_leader->comm", "task()->static_prio", "task()->sched_reset_on_fork"}
	events := []*Event{{Schema: enter, Label: "fields", Filter: ours},
		{Schema: enter, Label: "whole", Filter: ours}}
	records := []*Record{{}, {Whole: true}}
	var programs []*expr.Program
	for _, text := range texts {
		p := expr.Build(reading(t, m, enter, text))
		for _, f := range p.Uses.Fields {
			for _, r := range records {
				r.Fields = append(r.Fields, &expr.Field{F: f.F})
			}
		}
		programs = append(programs, p)
	}
	records[0].Fields = append(records[0].Fields, fieldsOf(t, enter, "id")...)
	src, _ := sending(t, h, recordsOf(events, records), perf.Config{Pages: 64})
	calls(3)
	seen := map[string]int{}
	stopped(t, src, func(e *event.Event) {
		seen[e.Stream.Label]++
		var kept event.Event
		e.Keep(&kept)
		for _, e := range []*event.Event{e, &kept} {
			var f expr.Frame
			for i, p := range programs {
				f.Reset(e)
				got, want := p.Value(&f).String(), want[texts[i]]
				if f.Err != nil || got != want {
					t.Errorf("%s %s: got %s %v, want %s", e.Stream.Label, texts[i], got, f.Err, want)
				}
			}
		}
		if id, _ := enter.Field("id"); e.Stream.Label == "whole" {
			if n, _ := id.Int(e); n != unix.SYS_GETPPID {
				t.Errorf("got system call %d behind what was read, want %d", n, unix.SYS_GETPPID)
			}
		}
	})
	if seen["fields"] != 3 || seen["whole"] != 3 {
		t.Errorf("got %v events, want 3 of each", seen)
	}
}

// A bad address drops the event, which is counted as an error.
func TestKernelReadOfBadAddress(t *testing.T) {
	h, fs := live(t)
	m := memory(t)
	enter := schemaOf(t, fs, "raw_syscalls", "sys_enter")
	ours := node(t, enter, fmt.Sprintf("id == %d", unix.SYS_GETPPID))
	texts := []string{
		`cast(8, "struct task_struct")->pid`,
		`cast(8, "struct task_struct")->comm`,
		`kernel_string(id)`,
		`cast(id, "struct task_struct")->real_parent->pid`,
		`path(-1)`, `path(1000000)`, `path(cast(8, "struct file"))`,
	}
	if _, err := m.Types.Named("struct folio"); err == nil { // since 5.16
		texts = append(texts, `path(cast(8, "struct folio"))`)
	}
	if _, err := m.PerCPU("runqueues", nil); err == nil && otherCPUs(t) {
		texts = append(texts, `per_cpu("runqueues", 100000).cpu`, `per_cpu("runqueues", id - 1000).cpu`,
			`per_cpu("runqueues", 1 << 32).cpu`)
	}
	for _, text := range texts {
		spec := counted(reading(t, m, enter, text))
		r := start(t, h, partOf([]*Event{{Schema: enter, Label: "enter", Filter: ours}}, &Edge{Group: spec}))
		calls(5)
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		rows := 0
		if err := r.Rows(nil, func(_ *agg.Spec, p *agg.Partial) { rows++ }); err != nil {
			t.Fatal(err)
		}
		loss, err := r.Loss()
		if err != nil {
			t.Fatal(err)
		}
		if rows != 0 || loss.Groups[spec].Errors+loss.Joins.Errors != 5 {
			t.Errorf("%s: got %d rows and losses %+v, want 5 errors alone", text, rows, loss)
		}
	}
}

// Wrong names are errors that say which structure lacks what.
func TestKernelReadErrors(t *testing.T) {
	_, fs := live(t)
	m := memory(t)
	enter := schemaOf(t, fs, "raw_syscalls", "sys_enter")
	for text, want := range map[string]string{
		"task()->real_parnt":                    "struct task_struct has no member real_parnt (did you mean real_parent?)",
		"task()->fs->pwd.dentri":                "struct path has no member dentri (did you mean dentry?)",
		"task()->se":                            "name a member of it",
		`cast(id, "struct tsk_strct")->x`:       "no type of that name (did you mean struct task_struct?)",
		"task()->signal->rlim":                  "name an element of it",
		"task()->signal->rlim[99].rlim_cur":     "has 16 elements",
		"task()->pid->x":                        "a pid_t has no members",
		`container_of(id, "task_struct", "sx")`: "struct task_struct has no member sx",
		"path(task()->mm)":                      "it is a struct mm_struct *, want a descriptor",
		"path(task()->mm->exe_file)->x":         "path(task()->mm->exe_file)",
	} {
		_, err := cexpr.Compile(text, &expr.Scope{Schema: enter, Services: expr.Services{Kernel: m}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	if _, err := m.PerCPU("runques", nil); err == nil || !strings.Contains(err.Error(), "runqueues?") &&
		!strings.Contains(err.Error(), "does not show the variables of its CPUs") {
		t.Errorf("got %v, want the nearest variable", err)
	}
	_, err := cexpr.Compile("task()->pid", &expr.Scope{Schema: enter})
	if err == nil || !strings.Contains(err.Error(), "not of a recording") {
		t.Errorf("got %v, want an error without the kernel's memory", err)
	}
}

// TestKernelReadsOfArguments checks that arguments of a tracepoint are what its record was made of.
func TestKernelReadsOfArguments(t *testing.T) {
	h, fs := live(t)
	m := memory(t)
	if !h.Guarded {
		testkit.Requires(t, testkit.Optional("raw programs everywhere", errors.ErrUnsupported))
	}
	rows := func(system, name string, keys ...string) []string {
		s := schemaOf(t, fs, system, name)
		var nodes []expr.Node
		for _, k := range keys {
			nodes = append(nodes, reading(t, m, s, k))
		}
		spec := counted(nodes...)
		r := startOn(t, h, partOf([]*Event{{Schema: s, Label: name}}, &Edge{Group: spec}), &Target{})
		for range 5 {
			if err := exec.Command("/bin/true").Run(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		g := agg.New(*spec)
		if err := r.Rows(nil, func(_ *agg.Spec, p *agg.Partial) { g.AddPartial(p) }); err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, row := range g.Rows() {
			list = append(list, strings.Join([]string{row[0].String(), row[len(keys)-1].String()}, " "))
		}
		return list
	}
	same := rows("sched", "sched_switch", `trace_arg("next")->pid == next_pid`,
		`trace_arg("prev")->pid == prev_pid`)
	if !slices.Equal(same, []string{"1 1"}) {
		t.Errorf("got %v, want nothing but equal tasks", same)
	}
	programs := rows("sched", "sched_process_exec", `trace_arg("bprm")->filename`,
		`trace_arg("p") == (unsigned long)task()`)
	if !slices.Contains(programs, "/bin/true 1") {
		t.Errorf("got %v, want the file that is executed, by the task itself", programs)
	}
	// Beside them fields that are in the record alone.
	beside := rows("sched", "sched_process_exec", "filename", `trace_arg("bprm")->filename`)
	if !slices.Contains(beside, "/bin/true /bin/true") {
		t.Errorf("got %v, want the file that is executed, by both", beside)
	}
	for _, row := range beside {
		if field, arg, _ := strings.Cut(row, " "); field != arg {
			t.Errorf("got %s of the record, and %s of the argument", field, arg)
		}
	}
	same = rows("sched", "sched_switch", "(prev_state & 0x10000) < 0x10000",
		`trace_arg("next")->pid == next_pid && trace_arg("prev")->pid == prev_pid`)
	if !slices.Equal(same, []string{"1 1"}) {
		t.Errorf("got %v, want nothing but records of their arguments", same)
	}
	sc := &expr.Scope{Services: expr.Services{Kernel: m}, Schema: schemaOf(t, fs, "sched", "sched_switch")}
	_, err := cexpr.Compile(`trace_arg("nxt")->pid`, sc)
	const want = "has no argument nxt (did you mean next?)"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
