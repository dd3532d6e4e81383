package main

import (
	"errors"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ppscript/runtime/text/unit"
)

// This file reads words of a command line before it is parsed, and checks the observed command.

// checkProgram is an error if a command cannot be started. kinds are the other
// targets on the command line.
func checkProgram(name string, kinds []string) error {
	if name == "" {
		return usagef("start", `""`, "the name of the command is empty").WithHint("give a command after --")
	}
	_, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot):
		return nil
	case errors.Is(err, fs.ErrPermission):
		return usagef("start", strconv.Quote(name), "not executable").
			WithHint("make it executable: chmod +x %s", name)
	case errors.Is(err, syscall.EISDIR):
		return usagef("start", strconv.Quote(name), "is a directory").WithHint("give a command after --")
	}
	hint := "check the name and the PATH with: command -v " + name
	if _, err := strconv.Atoi(name); err == nil && len(kinds) > 0 {
		hint = "separate the ids with commas, without blanks"
	}
	if strings.HasPrefix(name, "-") {
		hint = "options of ppscript go before the --"
	}
	return usagef("start", strconv.Quote(name), "no such program").WithHint("%s", hint)
}

// durationIn returns the --duration among words, before they are parsed; 0 if
// there is none. It also bounds the load of the script.
func durationIn(args []string) time.Duration {
	for i, word := range args {
		if word == "--" {
			break
		}
		text, given := strings.CutPrefix(word, "--duration=")
		if word == "--duration" && i+1 < len(args) {
			text, given = args[i+1], true
		}
		if !given {
			continue
		}
		if n, err := unit.ParseDuration(text, int64(time.Second)); err == nil {
			return time.Duration(n)
		}
	}
	return 0
}

// colorIn returns the --color among words, before they are parsed, because it
// also applies to errors about these words.
func colorIn(args []string) string {
	for i, word := range args {
		if word == "--" {
			break
		}
		if text, given := strings.CutPrefix(word, "--color="); given {
			return text
		}
		if word == "--color" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return "auto"
}
