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
	atOnce   = 2       // runs at the same time
	mostRead = 8 << 20 // bytes of output that are read of a run
	mostTold = 1_600   // bytes of an answer to a first question, about 400 tokens
	mostMore = 12_000  // bytes of an answer to the tool more
	mostEnd  = 500     // bytes of mostTold that are for the end of a cut answer: totals, losses
	grace    = 10 * time.Second
)

// An answer is the output of a run, cut to a length that a language model can
// read.
type answer struct {
	text   string
	notes  string // from standard error
	failed bool
	more   string // if text was cut: how to ask for the rest
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

// child runs ppscript in dir and waits for it. If the client cancels the run,
// or it takes too long, it gets SIGINT, so that it ends in order and leaves
// nothing behind.
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

// cut stores an answer that is too long on the shelf, and returns its beginning and its end.
// Lines about losses in the part between are counted and the last one is quoted, so that the
// client does not overlook them.
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
		a.more += fmt.Sprintf("; %d lines of it report losses, the last one: %.200s", len(found),
			strings.TrimSpace(found[len(found)-1]))
	}
	a.more += "]"
	if end != "" {
		a.more += "\n\n[its end:]\n" + strings.TrimRight(end, "\n")
	}
	a.text = text
	return a
}

// losses matches reports of missing events, in text and in JSON.
var losses = regexp.MustCompile(`(?m)^(?:lost \d+ events?.*|\d+ events? (?:` + lossFields + `).*|` +
	`\d+ events? unmatched(?: \([^)]*\))?, .*)$|"loss":\{[^}]*"(?:lost|` + lossFields + `)"[^}]*\}`)

const lossFields = "dropped|late|truncated|broken|evicted|errors|throttled|ended_early"

// lastLines returns the whole lines at the end of text that fit into most
// bytes.
func lastLines(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if begin := strings.IndexByte(text[len(text)-most:], '\n'); begin >= 0 {
		return text[len(text)-most+begin+1:]
	}
	return ""
}

// firstLines returns the whole lines at the beginning of text that fit into
// most bytes, or a part of the first line if it is longer.
func firstLines(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if end := strings.LastIndexByte(text[:most], '\n'); end > 0 {
		return text[:end+1]
	}
	return text[:most]
}

// A boundedBuffer keeps the first most bytes that are written to it. It calls
// full when more come.
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
