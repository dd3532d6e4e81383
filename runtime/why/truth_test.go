package why_test

import (
	"strings"
	"testing"

	"ppscript/runtime/why"
)

// stories have one cause each, with what is to be told of it.
var stories = []struct {
	name, history string
	from, to      int
	want          string
}{
	{"user code and a system call", `
		a=10/11
		0 0 a exit read
		50 0 a enter write 3
		70 0 a exit write
		100 0 a enter getpid`, 0, 100, `
		0-50 a: user code
		50-70 a: system call "write"
		70-100 a: user code`},
	{"a futex whose holder computes", `
		a=10/11 b=10/12
		0 0 a enter futex 0x1000 128
		0 1 b exit read
		10 0 a sleep -
		80 1 b enter futex 0x1000 129
		85 1 b wake a 0
		90 0 - run a
		100 0 a exit futex`, 0, 100, `
		0-10 a: system call "futex"
		10-80 a: futex "futex 0x1000" (b) > b: user code
		80-85 a: futex "futex 0x1000" (b) > b: system call "futex"
		85-90 a: CPU waking up
		90-100 a: system call "futex"`},
}

func TestStories(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			h := tell(s.history)
			x := why.New(h.config())
			got := x.Explain(h.span("a", s.from, s.to), why.History{Events: h.events()})
			whole(t, got)
			var want strings.Builder
			for line := range strings.Lines(s.want) {
				if line = strings.TrimSpace(line); line != "" {
					want.WriteString(line + "\n")
				}
			}
			if shown(got) != want.String() {
				t.Errorf("got\n%swant\n%s", shown(got), want.String())
			}
		})
	}
}
