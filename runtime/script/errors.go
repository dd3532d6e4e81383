package script

import (
	"errors"
	"fmt"
	"strings"

	"ppscript/runtime/text/diag"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file turns every way in which Starlark fails into one diag.Error with
// a position, the source line with a caret, the calls that led there, and a
// hint. Starlark's own messages are kept where they say enough.

// remember keeps a file's text and tree for excerpts and checks.
func (x *sourceFiles) remember(name, text string, tree *syntax.File) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byName[name] = &source{text: text, tree: tree}
}

func (x *sourceFiles) source(name string) *source {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byName[name]
}

// explainStatic converts errors of the parser and the resolver.
func (h *Host) explainStatic(err error) error {
	var se syntax.Error
	if errors.As(err, &se) {
		return h.At(se.Pos, &diag.Error{Cause: errors.New(syntaxMessage(se.Msg)), Hint: syntaxHint(se.Msg)})
	}
	var list resolve.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return &diag.Error{Cause: err}
	}
	first := h.resolveError(list[0])
	// The rest follow the first one's excerpt: fixing one misspelt name at a
	// time is tedious.
	const shown = 5
	for i, e := range list[1:] {
		if i == shown {
			first.Excerpt += fmt.Sprintf("\nand %d more errors", len(list)-1-shown)
			break
		}
		o := h.resolveError(e)
		first.Excerpt += "\n" + o.Error() + "\n" + o.Excerpt
	}
	return first
}

func (h *Host) resolveError(e resolve.Error) *diag.Error {
	d := &diag.Error{Cause: errors.New(e.Msg)}
	if rest, ok := strings.CutPrefix(e.Msg, "undefined: "); ok {
		name, _, _ := strings.Cut(rest, " ")
		near := h.nearestName(name, e.Pos.Filename())
		d.Cause = fmt.Errorf("undefined name %s%s", name, didYouMean(near))
		d.Hint = undefinedHint(name, near)
	}
	return h.At(e.Pos, d)
}

// At completes d with the position and excerpt.
func (h *Host) At(pos syntax.Position, d *diag.Error) *diag.Error {
	sp := h.texts.spanAt(pos)
	return h.AtSpan(sp, d)
}

func (h *Host) AtSpan(sp Span, d *diag.Error) *diag.Error {
	d.Pos = sp.Pos.String()
	d.Excerpt = h.texts.excerpt(sp)
	return d
}

// Explain converts an error of running code on t.
func (t *Thread) Explain(err error) error {
	h := t.host
	var static resolve.ErrorList
	if errors.As(err, &static) { // a chunk of the REPL is resolved as it runs
		return h.explainStatic(static)
	}
	var pos syntax.Position
	var stack starlark.CallStack
	var ee *starlark.EvalError
	for e := err; errors.As(e, &ee); e = ee.Unwrap() {
		stack = ee.CallStack
	}
	frames := starlarkFrames(stack)
	if len(frames) > 0 {
		pos = frames[len(frames)-1].Pos
	}
	d := t.cause(err, ee)
	if shippedRefusal(stack) {
		return diag.Errorf(diag.Usage, "", "", "%s", strings.TrimPrefix(d.Cause.Error(), "fail: ")).
			WithHint("the options and examples are shown with --help")
	}
	var le *loadError
	if errors.As(err, &le) && d.Pos != "" {
		// The loaded file's error has the place and the cause.
		d.Excerpt += "\nloaded from " + le.at.String()
		return d
	}
	if d.Pos == "" && pos.Col > 0 {
		var ae *ArgError
		sp := h.texts.spanAt(pos)
		if errors.As(err, &ae) {
			sp = h.texts.argSpan(pos, ae, sp)
		}
		h.AtSpan(sp, d)
		d.Excerpt += callLines(frames)
	}
	return d
}

// shippedRefusal reports that a script of the standard library called fail. The mistake is in the
// user's options, and the lines of the script do not help to mend it.
func shippedRefusal(stack starlark.CallStack) bool {
	n := len(stack)
	return n > 1 && stack[n-1].Name == "fail" && strings.HasPrefix(stack[n-2].Pos.Filename(), stdlibPrefix)
}

// cause finds the error to report: a diag.Error of a builtin stays as it is,
// with its class and hint.
func (t *Thread) cause(err error, ee *starlark.EvalError) *diag.Error {
	switch {
	case t.stopped.Load() != nil:
		return stoppedError(&t.host.opts.Limits, *t.stopped.Load())
	case t.limited:
		return t.stepsError()
	case t.host.threads.cancelled.Load() != nil:
		return &diag.Error{Cause: fmt.Errorf("script stopped: %s", *t.host.threads.cancelled.Load())}
	}
	var inner *diag.Error
	if errors.As(err, &inner) {
		d := *inner
		if d.Hint == "" {
			d.Hint = diag.HintOf(inner.Cause)
		}
		return &d
	}
	msg := err.Error()
	if ee != nil {
		msg = ee.Msg
	}
	// Hiding Starlark's error types is deliberate: nobody outside may know
	// them. Errors of builtins stay reachable.
	root := err
	for errors.As(root, &ee) && ee.Unwrap() != nil {
		root = ee.Unwrap()
	}
	return &diag.Error{Cause: &rewordedError{msg: runMessage(msg), err: root}, Hint: HintFor(msg)}
}

// rewordedError is an error with another text.
type rewordedError struct {
	msg string
	err error
}

func (s *rewordedError) Error() string { return s.msg }
func (s *rewordedError) Unwrap() error { return s.err }

// starlarkFrames drops builtins, which have no position.
func starlarkFrames(stack starlark.CallStack) []starlark.CallFrame {
	var frames []starlark.CallFrame
	for _, f := range stack {
		if f.Pos.Line > 0 {
			frames = append(frames, f)
		}
	}
	return frames
}

// callLines tells how the innermost frame was reached, innermost first.
func callLines(frames []starlark.CallFrame) string {
	const shown = 10
	var b strings.Builder
	for i := len(frames) - 2; i >= 0; i-- {
		if len(frames)-2-i == shown {
			fmt.Fprintf(&b, "\nand %d more calls", i+1)
			break
		}
		fmt.Fprintf(&b, "\ncalled from %s", frames[i].Pos)
		if n := frames[i].Name; n != "<toplevel>" {
			fmt.Fprintf(&b, " in %s", n)
		}
	}
	return b.String()
}

// Bug reports a Go panic that reached the host.
func (h *Host) Bug(p any) error {
	if d, ok := p.(*diag.Error); ok {
		return d
	}
	return &diag.Error{Op: "run script", Cause: fmt.Errorf("BUG: %v", p),
		Hint: "this is an error of ppscript, not of the script: please report it with the script"}
}
