package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ppscript/builtins"
	"ppscript/builtins/explore"
	"ppscript/cmd/ppscript/console"
	"ppscript/cmd/ppscript/prompt"

	"github.com/chzyer/readline"
)

// interactive reads statements from the terminal until Ctrl-D.
func (s *replSession) interactive(reg *builtins.Registry, limit explore.Limit) error {
	comp := &prompt.Completer{Lang: s.lang, Reg: reg, Bench: s.bench, Scripts: shipped()}
	raw := &rawTerminal{}
	rl, err := readline.NewEx(&readline.Config{
		Prompt: firstPrompt, HistoryFile: historyFile(), HistoryLimit: 5000, AutoComplete: comp,
		InterruptPrompt: "^C", EOFPrompt: " ", FuncFilterInputRune: noSuspend,
		FuncMakeRaw: raw.enter, FuncExitRaw: raw.exit,
	})
	if err != nil {
		return err
	}
	defer rl.Close()
	if s.app.Quiet == 0 {
		fmt.Fprintln(s.app.Stdout,
			"ppscript: help() lists the words, TAB completes, Ctrl-C stops, Ctrl-D ends")
	}
	for {
		indent := prompt.Indentation(comp.Before)
		read := rl.Readline
		if indent != "" {
			read = func() (string, error) {
				// It shows the line before it takes the terminal over, which would
				// take a Ctrl-C in between for itself.
				if err := raw.enter(); err != nil {
					return "", err
				}
				return rl.ReadlineWithDefault(indent)
			}
		}
		line, err := read()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			comp.Before = ""
			rl.SetPrompt(firstPrompt)
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		// Pasted text brings its own indentation.
		if own, ok := strings.CutPrefix(line, indent); ok && indent != "" && strings.HasPrefix(own, " ") {
			line = own
		}
		if strings.TrimSpace(line) == "" {
			line = "" // the indentation alone ends a block as nothing does
		}
		text := comp.Before + line + "\n"
		switch strings.TrimSpace(text) {
		case "":
			comp.Before = ""
			continue
		case "exit", "quit", "exit()", "quit()":
			return nil
		}
		if s.lang.Incomplete(text) {
			comp.Before = text
			rl.SetPrompt(morePrompt)
			continue
		}
		comp.Before = ""
		rl.SetPrompt(firstPrompt)
		if err := s.eval(text, limit); err != nil {
			for _, e := range console.Flatten(err) {
				s.app.Report(e)
			}
		}
	}
}

// A rawTerminal is the terminal's mode in which each key comes at once, as a
// character. To enter it twice is to enter it once.
type rawTerminal struct {
	mode readline.RawMode
	on   bool
}

func (r *rawTerminal) enter() error {
	if r.on {
		return nil
	}
	err := r.mode.Enter()
	r.on = err == nil
	return err
}

func (r *rawTerminal) exit() error {
	if !r.on {
		return nil
	}
	r.on = false
	return r.mode.Exit()
}

const (
	firstPrompt = ">>> "
	morePrompt  = "... "
)

// noSuspend keeps Ctrl-Z from stopping us in the middle of a line, in raw mode.
func noSuspend(r rune) (rune, bool) { return r, r != readline.CharCtrlZ }

// historyFile is where lines are kept: in the user's state directory; nowhere
// if there is none.
func historyFile() string {
	if f, ok := os.LookupEnv("PPSCRIPTHISTORY"); ok {
		return f
	}
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	dir = filepath.Join(dir, "ppscript")
	if os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	return filepath.Join(dir, "history")
}

// statements splits a text into statements and runs each: a block ends where a
// line is not indented any more.
func (s *replSession) statements(src string, run func(text string) error) error {
	text := ""
	for line := range strings.Lines(src) {
		line = strings.TrimSuffix(line, "\n") + "\n"
		if text != "" && !prompt.Continues(line) && !s.lang.Incomplete(text+"\n") {
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
		// An empty line ends nothing here: blocks may have some.
		inside := strings.TrimSpace(line) == "" || line[0] == ' ' || line[0] == '\t'
		if !inside && !s.lang.Incomplete(text) {
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
