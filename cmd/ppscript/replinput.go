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

	"github.com/chzyer/readline"
)

// interactive reads statements from the terminal until Ctrl-D.
func (s *replSession) interactive(reg *builtins.Registry, limit explore.Limit) error {
	comp := &completer{lang: s.lang, reg: reg, shop: s.shop}
	rl, err := readline.NewEx(&readline.Config{
		Prompt: prompt, HistoryFile: historyFile(), HistoryLimit: 5000, AutoComplete: comp,
		InterruptPrompt: "^C", EOFPrompt: " ", FuncFilterInputRune: noSuspend,
	})
	if err != nil {
		return err
	}
	defer rl.Close()
	if s.app.quiet == 0 {
		fmt.Fprintln(s.app.stdout, "ppscript: help() lists the words, TAB completes, Ctrl-C stops, Ctrl-D ends")
	}
	for {
		line, err := rl.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			comp.before = ""
			rl.SetPrompt(prompt)
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		text := comp.before + line + "\n"
		switch strings.TrimSpace(text) {
		case "":
			comp.before = ""
			continue
		case "exit", "quit", "exit()", "quit()":
			return nil
		}
		if s.lang.Incomplete(text) {
			comp.before = text
			rl.SetPrompt(more)
			continue
		}
		comp.before = ""
		rl.SetPrompt(prompt)
		if err := s.eval(text, limit); err != nil {
			for _, e := range flatten(err) {
				s.app.report(e)
			}
		}
	}
}

const (
	prompt = ">>> "
	more   = "... "
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
		if text != "" && !continues(line) && !s.lang.Incomplete(text+"\n") {
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

// continues reports that a line belongs to the block before it.
func continues(line string) bool {
	word, _, _ := strings.Cut(strings.TrimRight(line, ":\n "), " ")
	return strings.TrimSpace(line) == "" || line[0] == ' ' || line[0] == '\t' || line[0] == '#' || word == "else" || word == "elif" ||
		line[0] == ')' || line[0] == ']' || line[0] == '}'
}
