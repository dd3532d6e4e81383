package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	atOnce   = 2       // runs beside each other
	mostRead = 8 << 20 // bytes of what a run prints
	mostTold = 1_600   // bytes of an answer to one who did not ask for more, 400 tokens or so
	mostMore = 12_000  // bytes of one to somebody who did
	mostEnd  = 500     // of mostTold for the end, where totals and losses are, of an answer that is cut
	grace    = 10 * time.Second
)

// An answer is what a run printed, cut to what a client can read.
type answer struct {
	text   string
	notes  string // what it said beside
	failed bool
	more   string // how to ask for the rest
}

func (a answer) result() *mcp.CallToolResult {
	parts := []string{strings.TrimRight(a.text, "\n")}
	if a.notes != "" {
		parts = append(parts, strings.TrimRight(a.notes, "\n"))
	}
	if a.more != "" {
		parts = append(parts, a.more)
	}
	return &mcp.CallToolResult{IsError: a.failed,
		Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(parts, "\n\n")}}}
}

// child runs ppscript and waits for it. Ended by the client, or by its bound, a
// run leaves nothing behind: it ends in order.
func (s *server) child(ctx context.Context, dir string, args ...string) (answer, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, s.MaxTime+time.Minute)
	defer cancel()
	defer context.AfterFunc(s.clientCtx, cancel)()
	cmd := exec.CommandContext(ctx, s.Program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TERM=dumb", "LANG=C.UTF-8"}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = grace
	out, notes := &boundedBuffer{most: mostRead, full: cancel}, &boundedBuffer{most: 64 << 10,
		full: func() {}}
	cmd.Stdout, cmd.Stderr = out, notes
	err := cmd.Run()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		return answer{}, fmt.Errorf("run %s: %w", strings.Join(args, " "), err)
	}
	a := answer{text: out.text.String(), notes: notes.text.String(), failed: err != nil}
	if a.text == "" && a.notes == "" {
		a.text = "nothing was printed: no event came that fits"
	}
	if out.cut {
		a.notes += fmt.Sprintf("\nended after %d MiB of output: ask for less, with by() or --than",
			mostRead>>20)
	}
	return s.cut(a), nil
}

// cut keeps an answer that is too long, and tells its beginning and its end. Losses that are
// told between these are counted, so that nobody concludes without them.
func (s *server) cut(a answer) answer {
	if len(a.text) <= mostTold {
		return a
	}
	handle := s.shelf.put(a.text)
	text := firstLines(a.text, mostTold-mostEnd)
	end := lastLines(a.text[len(text):], mostEnd)
	between := a.text[len(text) : len(a.text)-len(end)]
	a.more = fmt.Sprintf("[%d of %d bytes; the rest: more with handle %s and offset %d", len(text),
		len(a.text), handle, len(text))
	if found := losses.FindAllString(between, -1); len(found) > 0 {
		a.more += fmt.Sprintf("; %d lines of it tell of losses, the last one: %.200s", len(found),
			strings.TrimSpace(found[len(found)-1]))
	}
	a.more += "]"
	if end != "" {
		a.more += "\n\n[its end:]\n" + strings.TrimRight(end, "\n")
	}
	a.text = text
	return a
}

// losses are lines that tell of events that are missing or given up, in text and in JSON.
var losses = regexp.MustCompile(`(?m)^(?:lost \d+ events?.*|\d+ events? (?:` + lossFields + `).*|` +
	`\d+ events? unmatched(?: \([^)]*\))?, .*)$|"loss":\{[^}]*"(?:lost|` + lossFields + `)"[^}]*\}`)

const lossFields = "dropped|late|truncated|broken|evicted|errors|throttled|ended_early"

// lastLines are whole lines at the end of text, of at most so many bytes.
func lastLines(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if begin := strings.IndexByte(text[len(text)-most:], '\n'); begin >= 0 {
		return text[len(text)-most+begin+1:]
	}
	return ""
}

// firstLines are whole lines of text, of at most so many bytes.
func firstLines(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if end := strings.LastIndexByte(text[:most], '\n'); end > 0 {
		return text[:end+1]
	}
	return text[:most]
}

// boundedBuffer keeps the first bytes that are written, and says when it is full.
type boundedBuffer struct {
	text bytes.Buffer
	most int
	full func()
	cut  bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if room := b.most - b.text.Len(); room < len(p) {
		b.text.Write(p[:max(room, 0)])
		b.cut = true
		b.full()
		return len(p), nil
	}
	return b.text.Write(p)
}
