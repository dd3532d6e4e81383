// Package diag is how ppscript says that something is wrong: errors with a
// subject and a hint, missing kernel support, warnings.
//
// Everything that can fail on a user's input returns an *Error, or wraps one.
// The package prints nothing and decides no exit code; cmd/ppscript does.
package diag

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Class is the kind of failure, which decides the exit code.
type Class uint8

const (
	Run    Class = iota // run-time or script error
	Usage               // the command line or an option value is wrong
	Attach              // the kernel refused: permission, no such event, no such pid
)

// An Error reads "operation subject: cause", with the hint on a line of its
// own.
type Error struct {
	Op      string // "open tracepoint"
	Subject string // "sched:sched_swich"
	Cause   error
	Hint    string // one imperative sentence, with the exact command if there is one
	Class   Class
	// Pos is file:line:col if the error is in a script; Excerpt is its source
	// line with a caret below, ready to print.
	Pos     string
	Excerpt string
}

// Errorf makes an Error; the cause is fmt.Errorf(format, args...).
func Errorf(class Class, op, subject, format string, args ...any) *Error {
	return &Error{Op: op, Subject: subject, Class: class, Cause: fmt.Errorf(format, args...)}
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

func (e *Error) Error() string {
	s := e.Op
	if e.Subject != "" {
		if s != "" {
			s += " "
		}
		s += e.Subject
	}
	if e.Cause != nil {
		if s != "" {
			s += ": "
		}
		s += e.Cause.Error()
	}
	if e.Pos != "" {
		s = e.Pos + ": " + s
	}
	return s
}

func (e *Error) Unwrap() error { return e.Cause }

// HintOf returns the first hint in err's chain.
func HintOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Cause
	}
	return ""
}

// ClassOf returns the class of the outermost Error in err's chain, Run if
// there is none.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Run
}

// FileError is a failed operation on a file that the user named. A wrong name is
// the user's mistake; a full or broken disk, or a full table of descriptors, is not.
func FileError(op, path string, err error) *Error {
	e := &Error{Op: op, Subject: path, Cause: Reason(err), Class: Usage}
	for _, errno := range []syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
	} {
		if errors.Is(err, errno) {
			e.Class = Run
		}
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		e.Hint = "make room: df -h"
	case errors.Is(err, syscall.EMFILE):
		e.Hint = "raise the limit with: ulimit -n 4096"
	}
	return e
}

// OrHint sets the hint if there is none, and returns e.
func (e *Error) OrHint(format string, args ...any) *Error {
	if e.Hint == "" {
		e.Hint = fmt.Sprintf(format, args...)
	}
	return e
}

// Reason is the system's error for a file without its path, which the message
// names already. Other errors are returned unchanged.
func Reason(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// Unsupported names a feature that this machine lacks, the kernel that
// first has it, and the means to use here instead.
type Unsupported struct {
	Feature string
	Since   string // "5.13"; empty if it is not a matter of version
	Instead string
}

func (u *Unsupported) Error() string {
	s := u.Feature + ": not supported by this kernel"
	if u.Since != "" {
		s += " (requires " + u.Since + ")"
	}
	if u.Instead != "" {
		s += "; " + u.Instead
	}
	return s
}
