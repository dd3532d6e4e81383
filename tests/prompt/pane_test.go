package prompt

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A pane is a terminal of tmux in which a prompt runs.
type pane struct {
	t      *testing.T
	socket string
	dir    string // tmux session in which it runs
}

// open starts a prompt with options, on a terminal of 90 columns and 24 lines. Its history is in
// the file history of dir.
func open(t *testing.T, dir string, env []string, options ...string) *pane {
	t.Helper()
	testkit.Requires(t, testkit.Tmux)
	bin := testkit.PPScript(t)
	sockets, err := os.MkdirTemp("", "pp") // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	p := &pane{t: t, socket: filepath.Join(sockets, "s"), dir: dir}
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", p.socket, "kill-server").Run() // the server may have ended
		os.RemoveAll(sockets)
	})
	args := append([]string{"-f", "/dev/null", "new-session", "-d", "-x", "90", "-y", "24", "-c", dir,
		"env", "-u", "PAGER", "-u", "PPSCRIPT_PAGER", "NO_COLOR=1",
		"PPSCRIPTHISTORY=" + filepath.Join(dir, "history")}, env...)
	args = append(append(args, bin, "repl"), options...)
	p.tmux(args...)
	p.see(">>>")
	return p
}

func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// keys presses keys by their names in tmux: Up, C-c.
func (p *pane) keys(names ...string) {
	p.t.Helper()
	p.tmux(append([]string{"send-keys", "-t", "0"}, names...)...)
}

// text types a text as it is.
func (p *pane) text(s string) {
	p.t.Helper()
	p.tmux("send-keys", "-t", "0", "-l", "--", s)
}

// line types a line.
func (p *pane) line(s string) {
	p.t.Helper()
	p.text(s)
	p.keys("Enter")
}

// paste pastes a text with the marks of bracketed paste.
func (p *pane) paste(s string) {
	p.t.Helper()
	p.tmux("set-buffer", "--", s)
	p.tmux("paste-buffer", "-p", "-t", "0")
}

// screen returns the text on the terminal.
func (p *pane) screen() string {
	p.t.Helper()
	return strings.TrimRight(p.tmux("capture-pane", "-p", "-t", "0"), "\n")
}

// until waits until the screen meets a condition. The deadline only ends a test that has
// failed.
func (p *pane) until(what string, ok func(screen string) bool) string {
	p.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		got := p.screen()
		if ok(got) {
			return got
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("want %s, the screen is\n%s", what, got)
		}
	}
}

// see waits until the screen has all of the words.
func (p *pane) see(words ...string) string {
	p.t.Helper()
	return p.until(fmt.Sprintf("%q", words), func(screen string) bool {
		for _, w := range words {
			if !strings.Contains(screen, w) {
				return false
			}
		}
		return true
	})
}

// clear waits until nothing but the prompt is on the screen.
func (p *pane) clear() {
	p.t.Helper()
	p.keys("C-l")
	p.until("the prompt alone", func(screen string) bool { return strings.TrimSpace(screen) == ">>>" })
}

// ask types a statement on a clear screen, and waits until the prompt comes back below the words.
func (p *pane) ask(statement string, words ...string) string {
	p.t.Helper()
	p.clear()
	p.line(statement)
	return p.until(fmt.Sprintf("%q, then the prompt", words), func(screen string) bool {
		lines := strings.Split(screen, "\n")
		if strings.TrimSpace(lines[len(lines)-1]) != ">>>" || len(lines) < 2 {
			return false
		}
		for _, w := range words {
			if !strings.Contains(screen, w) {
				return false
			}
		}
		return true
	})
}

func pause() { time.Sleep(10 * time.Millisecond) }
