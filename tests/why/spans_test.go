package why

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ppscript/runtime/result"
	"ppscript/tests/testkit"
)

// This file checks that causes do not depend on the operator that makes a span: a join, a fold, or
// both and a split.

// asPairs, asFold and asParts are scripts that explain the marked spans, each with spans from
// another operator.
const (
	head = `"""Marked spans."""

begin = tracepoint("syscalls:` + beginMark + `", filter = "pid==0x77000000")
end = tracepoint("syscalls:` + endMark + `", filter = "pid==0x77000000")
`
	asPairs = head + `
def main():
    return spans(begin, end, key = "_tid").why(than = 1 * us)
`
	asFold = head + `
def step(s, e):
    if e.event == "` + beginMark + `":
        s.since = e.time
    elif s.since:
        emit(who = e.tid)
        s.since = 0

def main():
    return merge(begin, end).fold("_tid", {"since": 0}, step, begin = "since").why(than = 1 * us)
`
	asParts = head + `
def main():
    switch = tracepoint("sched:sched_switch")
    off = spans(switch.key("prev_pid"), switch.key("next_pid"), name = "off")
    marked = spans(begin, end, key = "_tid", name = "marked")
    return marked.during(off).why(thread = "start._tid", label = lambda p: p.part)
`
)

// cut returns the parts of spans between two times, as if that time were explained alone. It keeps
// only the last link, because a chain is followed only to the begin of the explained span.
func cut(all []*result.WhySpan) (parts []result.WhyPart) {
	for _, s := range all {
		for _, p := range s.Parts {
			last := len(parts) - 1
			p.Path = p.Path[:1]
			if last >= 0 && parts[last].To == p.From && slices.Equal(parts[last].Path, p.Path) {
				parts[last].To = p.To
				continue
			}
			parts = append(parts, p)
		}
	}
	return parts
}

// checkStates explains the sleep of a thread, which is a span of task-state: only the thread's own
// events show what it waits for, and another thread ends it.
func checkStates(t *testing.T, file string, timer truth) {
	t.Helper()
	out := testkit.Run(t, testkit.PPScript(t), "--input", file, "why", "task-state --filter timer",
		"--than", "10ms", "--format", "json").Want(t, 0)
	found := false
	eachShown(t, out.Stdout, func(s *result.WhySpan) {
		for _, w := range checkSum(s) {
			t.Error(w)
		}
		for i := range s.Parts {
			cause := s.Parts[i].Cause()
			asleep := cause.Kind == result.WhyTimer && s.Parts[i].NS() > s.NS()*9/10
			found = found || s.Task.TID == timer.TID && s.Label == "S" && asleep
		}
	})
	if !found {
		t.Errorf("thread %d slept for a time, and no span says so:\n%s", timer.TID, out.Stdout)
	}
}

func TestSpansOfAllKinds(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.GCC)...)
	file, truths := record(t, program(t), bigRings, "timer", "chain", "mutex-sleep")
	checkStates(t, file, truths[slices.IndexFunc(truths, func(w truth) bool { return w.Name == "timer" })])
	told := func(script string) map[int32][]*result.WhySpan {
		t.Helper()
		path := filepath.Join(t.TempDir(), "spans.star")
		if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		all := map[int32][]*result.WhySpan{}
		out := testkit.Run(t, testkit.PPScript(t), "--input", file, path, "--format", "json").Want(t, 0)
		eachShown(t, out.Stdout, func(s *result.WhySpan) {
			for _, w := range checkSum(s) {
				t.Error(w)
			}
			all[s.Task.TID] = append(all[s.Task.TID], s)
		})
		for _, list := range all {
			slices.SortFunc(list, func(a, b *result.WhySpan) int { return int(a.From - b.From) })
		}
		return all
	}
	pairs, folded, split := told(asPairs), told(asFold), told(asParts)
	if len(pairs) != 3 {
		t.Fatalf("got spans of %d threads, want 3", len(pairs))
	}
	for tid, want := range pairs {
		is := func(what string, got []*result.WhySpan) {
			t.Helper()
			a, b := cut(want), cut(got)
			same := slices.EqualFunc(a, b, func(x, y result.WhyPart) bool {
				return x.From == y.From && x.To == y.To && slices.Equal(x.Path, y.Path)
			})
			if !same {
				t.Errorf("%s: got\n%+v\nwant\n%+v", what, b, a)
			}
		}
		is("fold", folded[tid])
		is("parts", split[tid])
		for _, s := range split[tid] {
			if s.Label != "off" && s.Label != "rest" {
				t.Errorf("part: got %q, want off or rest", s.Label)
			}
		}
	}
}
