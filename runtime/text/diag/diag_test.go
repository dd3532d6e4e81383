package diag

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

func TestErrorForm(t *testing.T) {
	e := Errorf(Attach, "open tracepoint", "sched:x", "no such event")
	if got, want := e.Error(), "open tracepoint sched:x: no such event"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e.Pos = "a.star:3:5"
	if got, want := e.Error(), "a.star:3:5: open tracepoint sched:x: no such event"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (&Error{Cause: errors.New("alone")}).Error(), "alone"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHintAndClassAreFoundInTheChain(t *testing.T) {
	inner := Errorf(Attach, "read", "f", "%w", fs.ErrPermission).WithHint("run as %s", "root")
	err := fmt.Errorf("plan: %w", &Error{Op: "open", Cause: inner, Class: Usage})
	if got := HintOf(err); got != "run as root" {
		t.Errorf("got hint %q, want that of the cause", got)
	}
	if got := ClassOf(err); got != Usage {
		t.Errorf("got class %d, want that of the outermost", got)
	}
	if !errors.Is(err, fs.ErrPermission) {
		t.Error("the cause is lost")
	}
	if HintOf(errors.New("x")) != "" || ClassOf(errors.New("x")) != Run {
		t.Error("got a hint or a class from a plain error")
	}
}

func TestUnsupported(t *testing.T) {
	u := &Unsupported{Feature: "kprobes", Since: "4.17", Instead: "tracepoints work"}
	if got, want := u.Error(),
		"kprobes: not supported by this kernel (requires 4.17); tracepoints work"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReasonLeavesThePathOut(t *testing.T) {
	_, err := os.Open("/nonexistent/file")
	link := os.Rename("/nonexistent/file", "/nonexistent/other")
	plain := errors.New("plain")
	for _, c := range []struct{ err, want error }{
		{err, syscall.ENOENT}, {fmt.Errorf("read: %w", err), syscall.ENOENT}, {link, syscall.ENOENT}, {plain, plain}, {nil, nil},
	} {
		if got := Reason(c.err); got != c.want {
			t.Errorf("%v: got %v, want %v", c.err, got, c.want)
		}
	}
}
