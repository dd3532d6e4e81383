package langserver

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"ppscript/cmd/ppscript/terminal/console"
)

const (
	pause     = 200 * time.Millisecond // between the last change and the check
	checkTime = 30 * time.Second
)

// check looks for mistakes once the user has paused typing. It runs ppscript
// check as a separate process, which opens no events and is ended after
// checkTime.
func (s *server) check(d *source) {
	d.close()
	ctx, cancel := context.WithTimeout(s.ctx, checkTime)
	d.cancel = cancel
	asked := *d
	s.checks.Go(func() {
		defer cancel()
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		list, ok := s.problems(ctx, &asked)
		if !ok || ctx.Err() != nil {
			return // there is a newer text
		}
		_ = s.conn.Notify(s.ctx, "textDocument/publishDiagnostics",
			publishParams{URI: asked.uri, Version: asked.version, Diagnostics: list})
	})
}

// problems returns the mistakes of a document, notes about slow functions and
// notes about events that could not be verified. ok is false if the check did
// not finish.
func (s *server) problems(ctx context.Context, d *source) (list []diagnostic, ok bool) {
	cmd := exec.CommandContext(ctx, s.Program, "check", "--format", "json", "--as", d.path, "-")
	cmd.Stdin = strings.NewReader(d.text.content)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	out, _ := cmd.Output() // an error only says that there are mistakes
	var found struct {
		Errors                  []console.Problem
		Interpreted, Unverified []string
	}
	if json.Unmarshal(bytes.TrimSpace(out), &found) != nil {
		return nil, false
	}
	list = []diagnostic{}
	for _, p := range found.Errors {
		list = append(list, d.diagnostic(p))
	}
	for _, why := range found.Interpreted {
		list = append(list, d.interpreted(why))
	}
	for _, why := range found.Unverified {
		list = append(list, d.unverified(why))
	}
	return list, true
}

// diagnostic converts a mistake to the protocol's form. A mistake in a file that
// the document loads is shown in the first line.
func (d *source) diagnostic(p console.Problem) diagnostic {
	message := p.Message
	if p.Hint != "" {
		message += "\nhint: " + p.Hint
	}
	own := p.File != "" && filepath.Base(p.File) == filepath.Base(d.path)
	if p.File != "" && !own {
		message = p.File + ": " + message
	}
	if !own {
		p.Line, p.Column = 1, 1
	}
	return diagnostic{Range: d.wordAt(p.Line, p.Column), Severity: severityError, Source: "ppscript",
		Message: message}
}

// interpreted makes the note that a function is slow. why has the form
// "FILE:LINE:COLUMN: REASON".
func (d *source) interpreted(why string) diagnostic {
	at, reason, ok := strings.Cut(why, ": ")
	file, line, column := console.SplitPlace(at)
	if !ok || filepath.Base(file) != filepath.Base(d.path) {
		line, column, reason = 1, 1, why
	}
	return diagnostic{Range: d.wordAt(line, column), Severity: severityInformation, Source: "ppscript",
		Message: "interpreted for each event, ten times slower: " + reason}
}

// unverified makes the note that this machine lacks an event, at the place where the document names
// it. why has the form "EVENT: REASON".
func (d *source) unverified(why string) diagnostic {
	event, _, _ := strings.Cut(why, ": ")
	at := span{}
	if i := strings.Index(d.text.content, event); i >= 0 {
		at = span{Start: d.text.position(i), End: d.text.position(i + len(event))}
	}
	return diagnostic{Range: at, Severity: severityInformation, Source: "ppscript", Message: why}
}

// wordAt returns the span of the word at a place, or of the rest of the line if
// there is no word.
func (d *source) wordAt(line, column int) span {
	begin := d.text.at(line, max(column, 1))
	from := d.text.offset(begin)
	_, _, end := d.text.word(from)
	if end == from {
		end = d.text.lines[begin.Line] + len(d.text.line(begin.Line))
	}
	if end == from && end > d.text.lines[begin.Line] { // at the end of a line: its last character
		_, size := utf8.DecodeLastRuneInString(d.text.content[:end])
		begin = d.text.position(end - size)
	}
	return span{Start: begin, End: d.text.position(end)}
}
