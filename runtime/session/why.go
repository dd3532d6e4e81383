package session

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/cgroup"
	"ppscript/runtime/event"
	"ppscript/runtime/kernel"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/task"
)

// whyResult is the delivery of where the time of slow spans went.
type whyResult struct {
	undelivered
	of    *run
	run   *plan.WhyRun // nil until begin
	files whyFiles
}

func (d *whyResult) open(ctx context.Context, op plan.Operator) error {
	d.files.of = d.of
	return d.files.open(ctx, op)
}

func (d *whyResult) close() error { return d.files.close(d.run != nil) }

func (d *whyResult) begin(_ context.Context, op plan.Running) error {
	d.run = op.(*plan.WhyRun)
	know := &d.run.Facts
	know.Arch = d.of.env.rec.arch()
	comm := d.of.env.tasks.Comm
	know.Task = func(tid int32) (pid int32, name string) { return 0, comm(tid) }
	know.Site = d.site
	if d.of.env.rec.file == nil {
		know.Task = func(tid int32) (pid int32, name string) { return max(task.ProcessOf(tid), 0), comm(tid) }
		know.Cgroup, know.Disk = cgroupOf, kernel.DiskName
		know.Quota = func(path string) bool { return cgroup.HasQuota(kernel.Roots{}, path) }
	}
	return nil
}

// cgroupOf is the path of a thread's cgroup: in the hierarchy that there is, or that of the
// CPU's controller.
func cgroupOf(tid int32) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(int(tid)) + "/cgroup")
	found := ""
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		if slices.Contains(strings.Split(controllers, ","), "cpu") {
			return path
		}
		if controllers == "" {
			found = path
		}
	}
	return found
}

// locking are parts of the names of functions that take a lock, and tell of it.
var locking = []string{"lock", "mutex", "rwsem", "down_", "trace", "bpf", "semaphore"}

// site is the function of the kernel that takes a lock, by the stack there: the first that is
// none of the lock itself.
func (d *whyResult) site(id stack.ID) string {
	if d.of.stacks == nil {
		return ""
	}
	frames, _ := d.of.stacks.Frames(nil, id)
	for _, f := range frames {
		of := func(part string) bool { return strings.Contains(f.Name(), part) }
		if !slices.ContainsFunc(locking, of) {
			return f.Name()
		}
	}
	return ""
}

func (*whyResult) showsLoss() bool { return true }

func (d *whyResult) tick(t *interval) error {
	w := d.run.Result(t.meta(d.run.Name, "", d.of.results.missing(t, event.Loss{})))
	d.name(w)
	return errors.Join(d.of.results.out.Why(w), d.files.add(w, t.final))
}

// name gives the stacks of the parts that are told one by one their functions.
func (d *whyResult) name(w *result.Why) {
	for _, s := range w.Slowest {
		for i := range s.Parts {
			for _, l := range s.Parts[i].Path {
				d.stack(w, l.Stack)
				d.stack(w, l.WakerStack)
			}
		}
	}
}

func (d *whyResult) stack(w *result.Why, id stack.ID) {
	if _, known := w.Stacks[id]; known || id == 0 || d.of.stacks == nil {
		return
	}
	if w.Stacks == nil {
		w.Stacks = map[stack.ID]result.WhyStack{}
	}
	frames, from := d.of.stacks.Frames(nil, id)
	w.Stacks[id] = result.WhyStack{Frames: frames, Cut: from.Cut}
}
