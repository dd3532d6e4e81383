package why_test

import (
	"slices"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/why"
)

// TestFileOfAWait names the file that a thread waits for, and says where its number may have been
// given to another one since.
func TestFileOfAWait(t *testing.T) {
	const history = `
		a=10/11 b=20/20 c=10/12
		0 0 a enter read 5
		0 1 c exit write
		10 0 a sleep b
		20 1 c wake a 0
		25 0 b run a
		30 0 a exit read`
	f := func(more, after, want string) {
		t.Helper()
		h := tell(history + more)
		cfg := h.config()
		cfg.File = func(pid, fd int32) string {
			if pid != 10 || fd != 5 {
				t.Errorf("asked for file %d of process %d", fd, pid)
			}
			return "/db"
		}
		later := tell("a=10/11 b=20/20 c=10/12\n" + after)
		history := why.History{Events: h.events(), After: slices.Values(later.evs)}
		got := why.New(cfg).Explain(h.span("a", 5, 30), history)
		whole(t, got)
		for _, p := range got.Parts {
			if l := p.Path[0]; l.File != "" || p.From == 10000 {
				if l.File != want || l.What != "read fd 5" && l.What != "read fd 5, woken by close" {
					t.Errorf("%q, %q: got %+v, want %q", more, after, l, want)
				}
				return
			}
		}
		t.Errorf("%q, %q: nobody waits", more, after)
	}
	f("", "", "/db")
	f("\n21 1 c enter close 5", "", "now /db")
	f("\n21 1 c enter close 4", "", "/db")
	f("\n21 1 b enter close 5", "", "/db") // another process
	f("\n5 1 c enter close 5", "", "/db")  // before the wait
	f("\n21 1 c enter dup2 4 5", "", "now /db")
	f("\n21 1 c enter dup2 5 4", "", "/db")
	f("\n21 1 c enter close_range 3 7", "", "now /db")
	f("\n21 1 c enter connect 5", "", "now /db")
	f("\n21 1 c enter execve 0x1000", "", "now /db")
	f("", "40 1 c enter close 5", "now /db") // behind the span
	f("", "40 1 b enter close 5", "/db")
}

// TestGeneralFile leaves out what is true of one span alone.
func TestGeneralFile(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := why.GeneralFile(in); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
	f("/a from b", "/a from b")
	f("now /a", "")
	f("tcp port 80 from 10.0.0.1:40000", "tcp port 80")
	f("tcp 10.0.0.1:5432", "tcp 10.0.0.1:5432")
	f("pipe", "pipe")
	f("", "")
}

// TestLostClosings says that a number may have been another's where a loss may hide that.
func TestLostClosings(t *testing.T) {
	h := tell(`
		a=10/11 b=20/20
		0 0 a enter read 5
		0 1 b exit write
		10 0 a sleep b
		20 1 b wake a 0
		25 0 b run a
		30 0 a exit read`)
	cfg := h.config()
	cfg.File = func(int32, int32) string { return "/db" }
	got := why.New(cfg).Explain(h.span("a", 5, 30), why.History{
		Events: h.events(), Gaps: []why.Gap{{CPU: 1, From: event.Time(26000), To: event.Time(27000)}},
	})
	whole(t, got)
	if l := got.Parts[1].Path[0]; l.File != "now /db" {
		t.Errorf("got %+v, want a file that may have been another", l)
	}
}
