// Command ppscript runs scripts that observe the kernel: profilers that come
// with it, files, or one line after -c.
//
// Only this package prints usage, maps errors to exit codes and ends the process. runtime/session runs
// scripts, and builtins has their vocabulary; each subcommand has a file.
package main

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"ppscript/cmd/ppscript/fleet"
	"ppscript/cmd/ppscript/fleet/token"
	"ppscript/cmd/ppscript/permit/sealed"
	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/system/workload"
)

func main() {
	// This comes first, because a process that becomes the observed command must not keep the
	// rights of a set-uid program either.
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
	args := os.Args[1:]
	if len(os.Args) > 0 && filepath.Base(os.Args[0]) == fleet.ServerProgram {
		args = append([]string{"hub"}, args...)
	}
	os.Exit(run(args))
}

// run is main, but returns the exit code.
func run(args []string) int {
	a := newApp()
	a.token = token.Take()
	// While SIGPIPE is caught, a write to a pipe without reader fails with EPIPE and does not end the
	// process. Child processes get the default action back.
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
