// Package newscript writes a new script as a starting point for its author, for
// ppscript new.
package newscript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ppscript/cmd/ppscript/editor/starfmt"
	"ppscript/runtime/event"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/eventstring"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// Write creates the file name.star with a runnable script about the tracepoints that texts
// name, and returns its path.
func Write(name string, texts []string) (path string, err error) {
	path = strings.TrimSuffix(name, ".star") + ".star"
	if len(texts) == 0 {
		return "", diag.Errorf(diag.Usage, "new", name, "no events").
			WithHint("name some: ppscript new %s -e sched:sched_switch", name)
	}
	fs := tracefs.FindFormats()
	var schemas []*event.Schema
	for _, text := range texts {
		list, err := eventstring.Parse(text, kernel.ParseCPUList)
		if err != nil {
			return "", err
		}
		for _, s := range list {
			if s.Kind != eventspec.Tracepoint {
				return "", diag.Errorf(diag.Usage, "new", s.FullName(), "not a tracepoint").
					WithHint("begin with a tracepoint; other sources are in: ppscript doc")
			}
			schema, err := fs.Schema(s.System, s.Name)
			if err != nil {
				return "", err
			}
			schemas = append(schemas, schema)
		}
	}
	text, err := starfmt.Format(path, []byte(skeleton(path, schemas)))
	if err != nil {
		return "", err
	}
	return path, create(path, string(text))
}

// create writes text into a new executable file. A file that exists is an
// error.
func create(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	switch {
	case errors.Is(err, fs.ErrExist):
		return diag.Errorf(diag.Usage, "new", path, "there is such a file already").
			WithHint("choose another name")
	case err != nil:
		return (&diag.Error{Op: "write", Subject: path, Cause: diag.Reason(err), Class: diag.Usage}).WithHint(
			"choose a directory that can be written to")
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// skeleton returns the text of a script that counts the events.
func skeleton(path string, schemas []*event.Schema) string {
	name := strings.TrimSuffix(filepath.Base(path), ".star")
	var w strings.Builder
	fmt.Fprintf(&w, `#!/usr/bin/env ppscript
"""Who causes %s, and how often.

    ppscript %s -i 1s

    (an example of its output)

How to read it: (what is usual, what is suspicious)

Cost: about 0.3 us for each event.
Needs: root, or CAP_PERFMON and a readable tracefs.
"""

opts = options(
    filter = opt.string("", metavar = "EXPR", help = "kernel filter, such as common_pid > 1"),
    events = opt.flag(help = "also show each event"),
)

def main(o):
`, fullNames(schemas), path)
	var vars []string
	for i, s := range schemas {
		v := "seen"
		if len(schemas) > 1 {
			v = fmt.Sprintf("seen%d", i+1)
		}
		vars = append(vars, v)
		var fields []string
		for j := range s.Fields {
			if n := s.Fields[j].Name; !strings.HasPrefix(n, "common_") {
				fields = append(fields, n)
			}
		}
		fmt.Fprintf(&w, "    # Its fields: %s.\n    %s = tracepoint(%q, filter = o.filter)\n",
			strings.Join(fields, " "), v, s.FullName())
	}
	all := vars[0]
	if len(vars) > 1 {
		all = "merge(" + strings.Join(vars, ", ") + ")"
	}
	fmt.Fprintf(&w, `    all = %s
    table = (
        all.by("comm", "pid")
        .count()
        .sort("count", reverse = True)
        .top(20)
        .title("%s")
    )
    return [table] + ([all.log()] if o.events else [])
`, all, name)
	return w.String()
}

func fullNames(schemas []*event.Schema) string {
	var names []string
	for _, s := range schemas {
		names = append(names, s.FullName())
	}
	return strings.Join(names, " and ")
}
