package prompt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"ppscript/builtins"
	"ppscript/builtins/explore"
	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/cmd/ppscript/terminal/tty"
	"ppscript/runtime/script"
	"ppscript/runtime/script/library"
	"ppscript/runtime/text/diag"
)

// A Session reads statements from a terminal or a text and runs them one after the other.
type Session struct {
	Console *console.Console
	Lang    *script.REPL
	Reg     *builtins.Registry
	Bench   *explore.Workbench
	Limit   explore.Limit // bounds of pipelines that the user types
	Scripts []string      // names of the scripts that come with the program
	// Begin is called before each statement.
	Begin func()

	editor *tty.Editor
	failed failure
}

// A failure is the last statement that ended in an error; err is nil if none did.
type failure struct {
	statement string
	err       error
}

const (
	// First is the prompt of statements, More the prompt of their further
	// lines.
	First = ">>> "
	More  = "... "
)

// keptStatements bounds the statements in the history.
const keptStatements = 5000

// Open prepares to read from the terminal. After it returns, any goroutine may call End.
func (s *Session) Open(in, out *os.File) (err error) {
	if s.editor, err = tty.Open(in, out); err != nil {
		return err
	}
	e := s.editor
	e.Prompt, e.More, e.Indent = First, More, Indentation
	e.Whole = func(text string) bool { return !s.Lang.Incomplete(text) }
	e.Complete = (&Completer{Lang: s.Lang, Reg: s.Reg, Bench: s.Bench, Scripts: s.Scripts}).Candidates
	path := historyFile()
	if e.History, err = tty.OpenHistory(path, keptStatements); err != nil {
		s.Console.Report((&diag.Error{Op: "read history", Subject: path, Cause: diag.Reason(err)}).
			WithHint("statements are not kept; check the permissions of the file: ls -l %s", path))
	}
	return nil
}

// End makes Terminal return.
func (s *Session) End() { s.editor.End() }

// Terminal reads statements from the terminal until Ctrl-D.
func (s *Session) Terminal() (err error) {
	defer func() { err = errors.Join(err, s.editor.Close()) }()
	if s.Console.Quiet == 0 {
		fmt.Fprintln(s.Console.Stdout,
			"ppscript: help() lists the words, ?NAME explains one, TAB completes, Ctrl-C stops, Ctrl-D ends")
	}
	for {
		text, err := s.editor.Read()
		switch {
		case errors.Is(err, tty.ErrInterrupt):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch strings.TrimSpace(text) {
		case "":
			continue
		case "exit", "quit", "exit()", "quit()":
			return nil
		}
		if err := s.editor.History.Add(text); err != nil {
			s.Console.Report(&diag.Error{Op: "write history", Cause: diag.Reason(err)})
		}
		if err := s.statements(text+"\n", s.Eval); err != nil {
			for _, e := range console.Flatten(err) {
				s.Console.Report(e)
			}
		}
	}
}

// Text runs the statements of a text until the first error.
func (s *Session) Text(text string) error { return s.statements(text, s.Eval) }

// statements splits a text into statements and runs each. A block ends at the
// first line that is not indented.
func (s *Session) statements(src string, run func(text string) error) error {
	text := ""
	for line := range strings.Lines(src) {
		line = strings.TrimSuffix(line, "\n") + "\n"
		if text != "" && !Continues(line) && !s.Lang.Incomplete(text+"\n") {
			if err := run(text); err != nil {
				return err
			}
			text = ""
		}
		text += line
		if strings.TrimSpace(text) == "" {
			text = ""
			continue
		}
		// Unlike at a terminal, an empty line does not end a block.
		inside := strings.TrimSpace(line) == "" || line[0] == ' ' || line[0] == '\t'
		if !inside && !s.Lang.Incomplete(text) {
			if err := run(text); err != nil {
				return err
			}
			text = ""
		}
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return run(text)
}

// Eval runs a statement and shows its value.
func (s *Session) Eval(text string) error {
	s.Begin()
	s.reload()
	if s.asksWhy(text) {
		return s.Console.Page(s.Why())
	}
	var err error
	if name, ok := Asks(text); ok {
		var about string
		if about, err = s.About(name); err == nil {
			return s.Console.Page(about)
		}
	} else if err = s.run(text); err == nil {
		return nil
	}
	s.failed = failure{strings.TrimSpace(text), err}
	return err
}

// reload loads files again that have changed since they were loaded.
func (s *Session) reload() {
	names := s.Lang.Changed(library.Edited)
	if len(names) == 0 {
		return
	}
	what := strings.Join(names, ", ") + " changed"
	if err := s.Bench.Reload(); err != nil {
		for _, e := range console.Flatten(err) {
			s.Console.Report(e)
		}
		s.Console.Say(what + ": what was loaded before goes on")
		s.failed = failure{"reload()", err}
		return
	}
	s.Console.Say(what + ": loaded again")
}

func (s *Session) run(text string) error {
	v, err := s.Lang.Exec(text)
	if err != nil {
		return err
	}
	out, ran, err := s.Bench.Evaluate(v, s.Limit)
	switch {
	case err != nil:
		return err
	case ran:
		s.Lang.Globals()["_"] = out
		return nil
	case v.Type() == "NoneType":
		return nil
	}
	shown, err := script.TextOf(v)
	if err != nil {
		return (&diag.Error{Op: "show", Subject: v.Type(), Cause: err}).WithHint("show a part of it")
	}
	return s.Console.Page(shown + "\n")
}
