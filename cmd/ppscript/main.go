// Command ppscript runs scripts that observe the kernel: profilers that come
// with it, files, or one line after -c.
//
// This is the only place that prints usage, maps errors to exit codes and ends
// the process. Runs are the work of runtime/session, the vocabulary of scripts
// is in builtins; each subcommand has a file.
package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"ppscript/cmd/ppscript/fleet"
	"ppscript/cmd/ppscript/fleet/token"
	"ppscript/cmd/ppscript/permit/sealed"
	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/system/workload"
)

func main() {
	// Before anything else: a set-uid program must not become a command, either.
	if err := privilege.Begin(); err != nil {
		a := &app{Console: console.Console{Stderr: os.Stderr}}
		os.Exit(a.exitCode(err))
	}
	fleet.Idle()
	workload.MaybeExecChild() // does not return in the child that becomes a command
	if len(os.Args) > 1 && os.Args[1] == "sealed" {
		if err := sealed.CleanEnvironment(); err != nil {
			os.Exit(exitUsage)
		}
	}
	os.Exit(run(os.Args[1:]))
}

// run is main without the end of the process.
func run(args []string) int {
	a := newApp()
	a.token = token.Take()
	// Caught, a write to a pipe that nobody reads fails with EPIPE instead of
	// ending us; our children get the default back.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	go a.leaveOn(quit)
	err := a.dispatch(args)
	return a.exitCode(errors.Join(err, a.scratch.remove(), a.libs.Close()))
}

// leaveOn ends the process on SIGQUIT, without the stacks of goroutines that
// Go shows; a run that watches its signals ends in order.
func (a *app) leaveOn(quit <-chan os.Signal) {
	for range quit {
		if !a.watching.Load() {
			os.Exit(128 + int(syscall.SIGQUIT))
		}
	}
}
