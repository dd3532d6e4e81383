package main

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/session"
	"ppscript/runtime/text/diag"
)

// This file decides the exit status. An error of ppscript itself comes first. Otherwise the exit status
// is the observed command's, as with env, timeout and perf, so that a build or a test can be observed
// without changing the script that runs it. A command that was still running at the end of the run, or
// that ended by a signal to ppscript, has no status.

// Exit codes.
const (
	exitOK     = 0
	exitRun    = 1
	exitUsage  = 2
	exitAttach = 3
	exitLost   = 4
	// The status that shells show for a process that SIGINT ended.
	exitInterrupted = 130
)

// An exitError ends the program with a code and without a message, since it
// has been printed.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// exitCode reports err and says how the program ends.
func (a *app) exitCode(err error) int {
	var code exitError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, syscall.EPIPE):
		return exitOK // the reader closed the pipe: no error
	}
	var told []string
	for _, e := range console.Flatten(err) {
		if errors.As(e, &code) {
			continue
		}
		if text := e.Error(); !slices.Contains(told, text) {
			told = append(told, text)
			a.Report(e)
		}
	}
	switch class := diag.ClassOf(err); {
	case len(told) == 0:
		return int(code)
	case class == diag.Usage:
		return exitUsage
	case class == diag.Attach:
		return exitAttach
	}
	return exitRun
}

// commandEnded reports a command that failed, and returns its status as an error. It returns nil if the
// command succeeded, or still runs.
func (a *app) commandEnded(name string, status int, signal syscall.Signal) error {
	switch {
	case signal > 0:
		a.Say(fmt.Sprintf("%s: ended by signal %d (%s)", name, int(signal), signal))
	case status > 0:
		a.Say(fmt.Sprintf("%s: exit status %d", name, status))
	default:
		return nil
	}
	return exitError(status)
}

// incomplete is the error of --strict for a result that lacks events.
func incomplete(name string, o session.Outcome, pages int) error {
	if n := o.Loss.Missing(); n > 0 {
		err := diag.Errorf(diag.Run, "run", name, "%d events were lost", n)
		switch st := o.Stats; {
		case o.Loss.Errors == n:
			return diag.Errorf(diag.Run, "run", name,
				"%d events were left out: an expression failed for them", n).
				WithHint("leave these events out before, for example with where(), or change the expression so that it is valid for them")
		case o.Gaps >= n:
			return err.WithHint("run it again while no CPU comes online")
		case st != nil && len(st.Rings) == 0:
			return err.WithHint("programs do the work; to read the events instead: --engine perf -m %d",
				4*max(pages, 128))
		}
		return err.WithHint("use larger rings: -m %d", 4*max(pages, 128))
	}
	return diag.Errorf(diag.Run, "run", name, "what it read ended early").
		WithHint("look for the end of the sender, the connection or the recorder: it was killed, or its disk is full")
}
