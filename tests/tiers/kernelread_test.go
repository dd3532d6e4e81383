package tiers

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A shell starts programs, and prints their parent and their exit codes itself.
const children = `echo $$; for n in 0 1 2; do sh -c "exit $n"; done; sh -c "kill -9 \$\$"; exit 0`

// reads are scripts that read the kernel's memory in every place where expressions
// may stand. Their tables have the shell's pid, and the exit codes of its children
// with their counts.
var reads = map[string]string{
	"group in the kernel": `
def main(o):
    e = tracepoint("sched:sched_process_exit").where(lambda e: task().pid == task().tgid and task().real_parent.comm == "sh")
    return e.by(parent = lambda e: task().real_parent.tgid, code = lambda e: task().exit_code).agg(n = agg.count())
`,
	"C": `
def main(o):
    e = tracepoint("sched:sched_process_exit").where("task()->pid == task()->tgid && task()->real_parent->comm ~ \"s?\"")
    return e.by(parent = "((struct task_struct *)task()->real_parent)->tgid", code = "*(int *)&task()->exit_code").agg(n = agg.count())
`,
	"sent": `
def main(o):
    e = tracepoint("sched:sched_process_exit").where(lambda e: task().pid == task().tgid and task().real_parent.comm == "sh")
    return e.by(parent = lambda e: task().real_parent.tgid, code = lambda e: max(task().exit_code, 0)).agg(n = agg.count())
`,
	"let, and a function that stays interpreted": `
def main(o):
    e = tracepoint("sched:sched_process_exit")
    e = e.let(p = lambda e: task().real_parent.tgid, c = lambda e: task().exit_code, comm_of = "task()->real_parent->comm", first = lambda e: task().pid == task().tgid)
    return e.where("first").where(lambda e: {"k": e.comm_of}["k"] == "sh").by(parent = "p", code = "c").agg(n = agg.count())
`,
	"pairs": `
def main(o):
    start = tracepoint("sched:sched_process_fork").let(parent = lambda e: task().tgid, name = lambda e: task().comm).key("child_pid")
    end = tracepoint("sched:sched_process_exit").let(code = lambda e: task().exit_code).key("tid")
    return join([start], [end]).where(lambda p: p.start.name == "sh").by(parent = "start.parent", code = "end.code").agg(n = agg.count())
`,
	"a list of the kernel": `
def code(e):
    found = -1
    for t in list_entries(task().real_parent.children, "struct task_struct", "sibling", 4):
        if t.pid == task().pid:
            found = t.exit_code
    return found

def main(o):
    e = tracepoint("sched:sched_process_exit").where(lambda e: task().pid == task().tgid and task().real_parent.comm == "sh")
    return e.by(parent = lambda e: task().real_parent.tgid, code = code).agg(n = agg.count())
`,
	"a list of the kernel, sent, with break": `
def code(e):
    seen = 0
    found = -1
    for t in list_entries(task().real_parent.children, "struct task_struct", "sibling", 4):
        seen += 1
        if t.pid == task().pid:
            found = t.exit_code
            break
    for t in list_entries(task().children, "struct task_struct", "sibling", 2):
        seen += 100
    return max(found, 0) if seen == 1 else -2

def main(o):
    e = tracepoint("sched:sched_process_exit").where(lambda e: task().pid == task().tgid and task().real_parent.comm == "sh")
    return e.by(parent = lambda e: task().real_parent.tgid, code = code).agg(n = agg.count())
`,
	"arguments of the tracepoint beside a field of the record": `
def main(o):
    e = tracepoint("sched:sched_process_exit").where(lambda e: trace_arg("p").pid == trace_arg("p").tgid and trace_arg("p").real_parent.comm == "sh")
    return e.where("pid + prio > prio").by(parent = lambda e: trace_arg("p").real_parent.tgid, code = lambda e: trace_arg("p").exit_code).agg(n = agg.count())
`,
	"fold": `
def step(s, e):
    parent = task().real_parent
    if task().pid != task().tgid or parent.comm != "sh":
        return
    s.n += 1
    emit(parent = parent.tgid, code = task().exit_code)

def main(o):
    ended = tracepoint("sched:sched_process_exit").fold("tid", {"n": 0}, step)
    return ended.by("parent", "code").agg(n = agg.count())
`,
}

// Values that programs read from tasks equal the shell's output, wherever the
// expression stands: evaluated in the kernel, or sent from there.
func TestKernelReads(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.BTF)...)
	for name, text := range reads {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "tables")
			said := testkit.Run(t, testkit.PPScript(t), script(t, text), "--format", "json", "-o", file, "--",
				"sh", "-c", children).Want(t, 0).Stdout
			shell, _, _ := strings.Cut(said, "\n")
			output, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int64{}
			for _, table := range testkit.Tables(t, string(output)) {
				for _, r := range table.Rows {
					if parent := strconv.FormatInt(r.Int(t, "parent"), 10); parent != shell {
						t.Errorf("got parent %s, want the shell, %s", parent, shell)
					}
					got[strconv.FormatInt(r.Int(t, "code"), 10)] += r.Int(t, "n")
				}
			}
			// In the form of wait(2): the status in the bits above the signal.
			if want := map[string]int64{"0": 1, "256": 1, "512": 1, "9": 1}; !maps.Equal(got, want) {
				t.Errorf("got %v, want %v\n%s", got, want, output)
			}
		})
	}
}

// interpretedRead has a function that is not compiled.
const interpretedRead = `
def name(e):
    x = {}
    x[e.pid] = task().comm
    return x[e.pid]

def main(o):
    return tracepoint("sched:sched_process_exec").by(comm = name).count()
`

// Without programs, values that only programs can read are an error before anything
// is opened.
func TestKernelReadsNeedPrograms(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.BTF)...)
	read := script(t, reads["group in the kernel"])
	for want, args := range map[string][]string{
		"task().pid": {testkit.PPScript(t), read, "--engine", "perf", "--", "true"},
		"struct task_struct has no member real_parnt (did you mean real_parent?)": {
			testkit.PPScript(t), script(t, strings.ReplaceAll(reads["fold"], "real_parent", "real_parnt")),
			"--", "true",
		},
		"it reads task().comm, of the kernel's memory, which only a compiled function can, and": {
			testkit.PPScript(t), script(t, interpretedRead), "--", "true",
		},
	} {
		if out := testkit.Run(t, args...).Want(t, 1); !strings.Contains(out.Stderr, want) {
			t.Errorf("got %s, want %q", out.Stderr, want)
		}
	}
}

// Fields that point to structures of the kernel can be followed, in both notations;
// help lists their members.
func TestFieldsThatPoint(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.BTF)...)
	out := testkit.Run(t, testkit.PPScript(t), "trace", "-e", "kprobe:vfs_read", "help").Want(t, 0).Stdout
	for _, want := range []string{"struct file *", "size_t", "loff_t *", "f_mode (fmode_t)"} {
		if !strings.Contains(out, want) {
			t.Errorf("help of vfs_read: got %q, want %q", out, want)
		}
	}
	// The event of a capability check, with the checked credentials; since 6.14.
	const event = "capability:cap_capable"
	help := testkit.Run(t, testkit.PPScript(t), "trace", "-e", event, "help")
	testkit.Requires(t, testkit.Optional(event, help.Err()))
	if !strings.Contains(help.Stdout, "struct cred: usage (") {
		t.Errorf("got %q, want the members of struct cred", help.Stdout)
	}
	read := script(t, `
def main(o):
    e = tracepoint("capability:cap_capable")
    return e.where("cred->uid.val == 0").by(uid = lambda e: e.cred.uid.val, c = "cred->euid.val").agg(n = agg.count())
`)
	file := filepath.Join(t.TempDir(), "tables")
	testkit.Run(t, testkit.PPScript(t), read, "--format", "json", "-o", file, "--", "nice", "-n", "-1",
		"true").Want(t, 0)
	output, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, table := range testkit.Tables(t, string(output)) {
		for _, r := range table.Rows {
			rows++
			if r.Int(t, "uid") != int64(os.Getuid()) || r.Int(t, "c") != int64(os.Geteuid()) {
				t.Errorf("got user %d and %d, want ours", r.Int(t, "uid"), r.Int(t, "c"))
			}
		}
	}
	if rows != 1 {
		t.Errorf("got %d rows, want 1: %s", rows, output)
	}
}

// Programs that filter samples read the kernel's memory too. They keep the samples that
// fulfil the condition, and count those with a bad address.
func TestKernelReadsOfSamples(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.BTF, testkit.Samples)...)
	const faults = 200
	of := func(pred string) string { // as lines, for which only a filter of samples can read the memory
		return `software("page-faults").where(lambda e: ` + pred + `).log()`
	}
	for name, c := range map[string]struct {
		pred         string
		lines, wrong bool
		status       int // 1 if there were only errors
	}{
		"kept":    {`task().mm.owner.tgid == task().tgid and task().comm.startswith("load")`, true, false, 0},
		"dropped": {`task().real_parent.tgid == task().tgid`, false, false, 0},
		"bad":     {`cast(8, "struct task_struct").pid == 1`, false, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := testkit.StartTarget(t, "-fault", strconv.Itoa(faults))
			p := testkit.Start(t, testkit.PPScript(t), "-c", of(c.pred), "-p", strconv.Itoa(l.PID()),
				"--format", "json", "-v")
			p.WaitStderr(" open event")
			l.Do()
			out := p.Stop().Want(t, c.status)
			l.End()
			lines, errors := len(testkit.Events(t, out.Stdout)), int64(0)
			for _, loss := range testkit.All[map[string]any](t, out.Stdout, "loss") {
				errors += testkit.Row(loss).Int(t, "errors")
			}
			// The faults of the program itself come in addition.
			if (lines >= faults) != c.lines || (errors >= faults) != c.wrong ||
				!c.lines && lines > 0 || !c.wrong && errors > 0 {
				t.Errorf("got %d lines and %d errors: %s", lines, errors, out.Stdout)
			}
		})
	}
}
