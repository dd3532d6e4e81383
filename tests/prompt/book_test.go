package prompt

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppscript/docs"
	"ppscript/tests/testkit"
)

// pageStatement is a statement of a page, with the output that the page shows.
type pageStatement struct {
	lines  []string
	answer []string
}

// session returns the statements that a page types.
func session(page string) (list []pageStatement) {
	for line := range strings.Lines(page) {
		line, inside := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		statement, begins := strings.CutPrefix(line, ">>> ")
		further, goesOn := strings.CutPrefix(line, "... ")
		switch n := len(list) - 1; {
		case !inside:
		case begins:
			list = append(list, pageStatement{lines: []string{statement}})
		case n >= 0 && goesOn:
			list[n].lines = append(list[n].lines, further)
		case n >= 0:
			list[n].answer = append(list[n].answer, line)
		}
	}
	return list
}

// number matches numbers, which differ from run to run.
var number = regexp.MustCompile(`[0-9][0-9.]*(ns|us|ms|s)?`)

// The test types the session of docs/prompt.md: each statement has output exactly if the page shows
// some, and the output begins in the same way.
func TestSessionOfThePage(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Live...)
	testkit.Start(t, "sh", "-c", "while :; do read x </dev/null; sleep 0.01; done")
	page, ok := docs.Page("prompt")
	list := session(page)
	if !ok || len(list) < 10 {
		t.Fatalf("got %d statements", len(list))
	}
	p := open(t, t.TempDir(), []string{"PPSCRIPT_PAGER=cat"})
	p.tmux("resize-window", "-t", "0", "-x", "110", "-y", "60")
	for _, s := range list {
		p.clear()
		for i, line := range s.lines {
			p.text(line)
			if i < len(s.lines)-1 {
				p.keys("Enter")
			}
		}
		p.see(s.lines[len(s.lines)-1])
		if len(s.lines) > 1 {
			p.keys("Enter")
		}
		p.keys("Enter")
		screen := p.until("the prompt", func(screen string) bool {
			lines := strings.Split(screen, "\n")
			return len(lines) > 1 && lines[len(lines)-1] == ">>>"
		})
		lines := strings.Split(screen, "\n")
		answer := lines[1 : len(lines)-1]
		answer = slices.DeleteFunc(answer, func(l string) bool { return strings.HasPrefix(l, "...") })
		if len(answer) == 0 && len(s.answer) == 0 {
			continue
		}
		masked := func(lines []string) string {
			if len(lines) == 0 {
				return ""
			}
			return number.ReplaceAllString(lines[0], "#")
		}
		if got, want := masked(answer), masked(s.answer); got != want {
			t.Errorf("%q shows\n%s\nand in the page\n%s", s.lines, got, want)
		}
	}
}
