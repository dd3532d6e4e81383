package script

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A REPL runs chunks of code one after the other in one set of globals, which
// stay mutable. It belongs to one goroutine; Host.Cancel stops a chunk, and
// Host.Resume makes the REPL usable again.
type REPL struct {
	host    *Host
	globals starlark.StringDict
	chunks  int
	loads   []loadedBy // load statements of chunks, each once
}

// NewREPL makes a REPL with the predeclared names.
func (h *Host) NewREPL() *REPL {
	return &REPL{host: h, globals: withGuards(h.opts.Predeclared, h.guards)}
}

// Host returns the host of the REPL.
func (r *REPL) Host() *Host { return r.host }

// Globals returns the names that chunks can use and change.
func (r *REPL) Globals() starlark.StringDict { return r.globals }

// Exec runs a chunk. If its last statement is an expression, Exec returns its
// value and stores it as _; otherwise it returns None. The error is a
// *diag.Error.
func (r *REPL) Exec(text string) (starlark.Value, error) {
	r.chunks++
	name := fmt.Sprintf("<input %d>", r.chunks)
	return r.ExecNamed(name, text)
}

// ExecNamed is Exec with a name of the chunk for messages, which should be
// unique.
func (r *REPL) ExecNamed(name, text string) (starlark.Value, error) {
	h := r.host
	opts := dialect()
	// Names loaded in one chunk can be used in later ones.
	opts.LoadBindsGlobally = true
	tree, err := h.parse(name, text, opts)
	if err != nil {
		return nil, err
	}
	h.texts.source(name).names = r.globals
	code, err := guarded(name, text, opts)
	if err != nil {
		return nil, h.explainStatic(err)
	}
	written, writtenLast := split(tree)
	chunk, last := split(code)
	t := h.newThread(name, h.opts.Limits.Steps)
	v, err := t.run(func() (starlark.Value, error) {
		if len(chunk.Stmts) > 0 {
			// Checks and lowering use the tree before it is rewritten.
			if err := resolve.REPLChunk(written, r.globals.Has, none, starlark.Universe.Has); err != nil {
				return nil, err
			}
			if err := starlark.ExecREPLChunk(chunk, t.Thread, r.globals); err != nil {
				return nil, err
			}
		}
		if last == nil {
			return starlark.None, nil
		}
		if _, err := resolve.ExprOptions(opts, writtenLast, r.globals.Has,
			starlark.Universe.Has); err != nil {
			return nil, err
		}
		return starlark.EvalExprOptions(opts, t.Thread, last, r.globals)
	})
	if err == nil && nested(v, h.opts.Limits.Depth) {
		return nil, deep(&h.opts.Limits, "result")
	}
	if err == nil {
		r.keepLoads(name, written)
	}
	if err == nil && v != starlark.None {
		r.globals["_"] = v
	}
	return v, err
}

func none(string) bool { return false }

// split separates the last statement of a chunk, if it is an expression, from
// the rest.
func split(tree *syntax.File) (rest *syntax.File, last syntax.Expr) {
	chunk := *tree
	if n := len(tree.Stmts); n > 0 {
		if e, ok := tree.Stmts[n-1].(*syntax.ExprStmt); ok {
			last, chunk.Stmts = e.X, tree.Stmts[:n-1]
		}
	}
	return &chunk, last
}

// Incomplete reports that text is the begin of a statement that continues on
// the next line: it has an open bracket, or a block without an empty line at
// the end.
func (r *REPL) Incomplete(text string) bool {
	lines := strings.SplitAfter(text, "\n")
	if n := len(lines); n > 0 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	wants := false
	// Errors are ignored: an invalid statement is complete unless the parser
	// wanted more lines.
	_, _ = dialect().ParseCompoundStmt("<input>", func() ([]byte, error) {
		if len(lines) == 0 {
			wants = true
			return nil, io.EOF
		}
		l := strings.TrimSuffix(lines[0], "\n") + "\n"
		lines = lines[1:]
		return []byte(l), nil
	})
	return wants
}

// Complete lists completions of the last name in text, as full names, such as
// "agg.count" for "agg.c". It evaluates attributes but calls nothing.
func (r *REPL) Complete(text string) []string {
	start := len(text)
	for start > 0 && (text[start-1] == '.' || identByte(text[start-1])) {
		start--
	}
	path := text[start:]
	i := strings.LastIndexByte(path, '.')
	var names []string
	if i < 0 {
		names = append(visibleNames(r.globals), starlark.Universe.Keys()...)
	} else {
		parts := strings.Split(path[:i], ".")
		v := r.globals[parts[0]]
		for _, p := range parts[1:] {
			x, ok := v.(starlark.HasAttrs)
			if !ok {
				return nil
			}
			var err error
			if v, err = x.Attr(p); err != nil {
				return nil
			}
		}
		x, ok := v.(starlark.HasAttrs)
		if !ok {
			return nil
		}
		for _, n := range x.AttrNames() {
			names = append(names, path[:i+1]+n)
		}
	}
	var out []string
	for _, n := range names {
		if strings.HasPrefix(n, path) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func identByte(ch byte) bool {
	return ch == '_' || ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9'
}

// WellFormed returns the syntax error of a file, if any.
func WellFormed(name, text string) error {
	_, err := Parse(name, text)
	return err
}

// Parse returns the syntax tree of a file.
func Parse(name, text string) (*syntax.File, error) {
	return NewHost(HostOptions{}).parse(name, text, dialect())
}

// Check parses and resolves a file without running it.
func (h *Host) Check(name, text string) error {
	tree, err := h.parse(name, text, dialect())
	if err != nil {
		return err
	}
	if _, err = starlark.FileProgram(tree, h.opts.Predeclared.Has); err != nil {
		return h.explainStatic(err)
	}
	return nil
}
