package script

import (
	"slices"
	"strings"

	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file has hints for mistakes that users of other languages make in Starlark.

func didYouMean(near string) string {
	if near == "" {
		return ""
	}
	return " (did you mean " + near + "?)"
}

// nearestName suggests a name that the file could have meant.
func (h *Host) nearestName(name, file string) string {
	names := append(h.opts.Predeclared.Keys(), starlark.Universe.Keys()...)
	s := h.texts.source(file)
	if s != nil {
		names = append(names, s.names.Keys()...)
	}
	if s != nil && s.tree != nil {
		syntax.Walk(s.tree, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.DefStmt:
				names = append(names, n.Name.Name)
			case *syntax.LoadStmt:
				for _, id := range n.To {
					names = append(names, id.Name)
				}
			case *syntax.AssignStmt:
				if id, ok := n.LHS.(*syntax.Ident); ok {
					names = append(names, id.Name)
				}
			}
			return true
		})
	}
	// Local names of other functions cannot be used here.
	names = slices.DeleteFunc(names, func(n string) bool { return n == name })
	return diag.Nearest(name, names)
}

func undefinedHint(name, near string) string {
	switch name {
	case "import", "from":
		return `write load("./file.star", "name")`
	case "try", "except":
		return "write r = try_(fn, ...) and look at r.ok"
	case "null", "nil", "none":
		return "write None"
	case "true", "false":
		return "write True or False"
	case "m", "h":
		return "write 60 * s for a minute"
	}
	if near != "" {
		return ""
	}
	return "list the names that exist: help()"
}

func syntaxMessage(msg string) string {
	if rest, ok := strings.CutPrefix(msg, "got "); ok {
		if got, want, ok := strings.Cut(rest, ", want "); ok {
			return "syntax: got " + got + ", want " + want
		}
	}
	if strings.HasPrefix(msg, "invalid escape sequence") {
		// The scanner shows the first byte of a character as if it were one.
		msg = "invalid escape sequence: a backslash before what needs none"
	}
	return "syntax: " + msg
}

func syntaxHint(msg string) string {
	has := func(s string) bool { return strings.Contains(msg, s) }
	switch {
	case has("got try"), has("got except"), has("got raise"):
		return "write r = try_(fn, ...) and look at r.ok; end a script with fail(...)"
	case has("got import"), has("got from"):
		return `write load("./file.star", "name")`
	case has("got class"):
		return "write struct(...) for a record, state(...) for one that changes"
	case has("got with"), has("got async"), has("got await"), has("got yield"), has("got global"),
		has("got nonlocal"):
		return "this statement of Python does not exist in Starlark"
	case has("got '='"), has("got ="):
		return "write == to compare"
	case has("escape sequence"):
		return `write \\ for a backslash, or the text as r"..."`
	case has("indent"):
		return "indent with four spaces"
	}
	return ""
}

func runMessage(msg string) string {
	if rest, ok := strings.CutPrefix(msg, "cannot load "); ok {
		return "load " + rest
	}
	return msg
}

// HintFor returns the hint for a message of Starlark; "" if there is none.
func HintFor(msg string) string {
	if strings.HasPrefix(msg, "too large: ") {
		return "make less of it at a time; events are counted and kept by pipelines, such as stream.by(\"comm\").count()"
	}
	has := func(parts ...string) bool {
		for _, p := range parts {
			if !strings.Contains(msg, p) {
				return false
			}
		}
		return true
	}
	switch {
	case has("called recursively"):
		return "write it as a loop: scripts have while, but no recursion"
	case has("frozen"):
		return "values are frozen once the file is loaded; keep what changes in state(...)"
	case has("duration", "not implemented"), has("duration", "unknown binary op"):
		return "give the other side a unit, for example 10 * ms, or take the number: d.ns"
	case has("size", "not implemented"), has("size", "unknown binary op"):
		return "give the other side a unit, for example 4 * KiB, or take the number: n.bytes"
	case has("time", "unknown binary op: time"), has("time ", "not implemented"):
		return "subtract two times to get a duration, or take the number: t.ns"
	case has("referenced before assignment"):
		return "assign it on every path; a function cannot change a global, use state(...)"
	case has("unknown binary op: string + "), has(" + string"):
		return `write "%s %d" % (text, number), or fmt("{} {}", text, number)`
	case has("unhashable"):
		return "use a tuple, text or number as the key"
	}
	return ""
}
