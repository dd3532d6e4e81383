package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	b "ppscript/builtins"
	"ppscript/builtins/pipeline"
	"ppscript/builtins/results"
	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/session"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/eventstring"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/glob"

	"go.starlark.net/starlark"
)

// This file answers questions about events and pipelines without running
// anything.

// Sources returns the sources of the streams and results in a value, each once.
func Sources(v starlark.Value) []*plan.Source {
	var list []*plan.Source
	var walk func(s plan.Stream)
	walk = func(s plan.Stream) {
		if src, ok := s.(*plan.Source); ok && !slices.Contains(list, src) {
			list = append(list, src)
		}
		for _, in := range s.Inputs() {
			walk(in)
		}
	}
	switch v := v.(type) {
	case *pipeline.Stream:
		walk(v.S)
	case results.Reporter:
		for _, in := range inputs(v.Plan()) {
			walk(in)
		}
	case starlark.String:
	case starlark.Indexable:
		for i := range v.Len() {
			list = append(list, Sources(v.Index(i))...)
		}
	}
	return list
}

func inputs(r plan.Report) []plan.Stream {
	if in, ok := r.(interface{ Input() plan.Stream }); ok {
		return []plan.Stream{in.Input()}
	}
	return nil
}

// eventsOf returns the names of the events to record: v is a name, a pipeline,
// or a list of these; None means the last run.
func (s *Workbench) eventsOf(v starlark.Value) ([]string, error) {
	if text, ok := starlark.AsString(v); ok {
		return []string{text}, nil
	}
	var sources []*plan.Source
	if l, ok := v.(*starlark.List); ok && l.Len() > 0 {
		var names []string
		for i := range l.Len() {
			more, err := s.eventsOf(l.Index(i))
			if err != nil {
				return nil, err
			}
			names = append(names, more...)
		}
		return names, nil
	}
	if v == starlark.None {
		if s.last == nil {
			return nil, errors.New("nothing ran yet whose events could be recorded")
		}
		for _, r := range s.last {
			for _, in := range inputs(r) {
				sources = append(sources, Sources(&pipeline.Stream{S: in})...)
			}
		}
	} else if sources = Sources(v); len(sources) == 0 {
		return nil, fmt.Errorf("got %s, want events or a pipeline", v.Type())
	}
	var names []string
	for _, src := range sources {
		if n := src.FullName(); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names, nil
}

func (s *Workbench) explain() *b.Builtin {
	return &b.Builtin{
		Name:    "explain",
		Group:   b.Workshop,
		Summary: "Shows what a pipeline would open, and what runs where.",
		Params: []b.Param{
			{Name: "x", Type: b.Any, Required: true, Doc: "a stream, table, log or stacks, or a list of them"},
		},
		Returns: "help",
		Result:  "the plan as text",
		Errors:  "what the plan finds wrong",
		Source:  computed,
		Cost:    "none for events",
		Examples: []b.Example{
			{Code: `explain(tracepoint("sched:sched_switch").by("prev_comm").count())`, Live: true},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if !runnable(c.Value("x")) {
				return nil, c.Errorf("x", "got %s, want a pipeline", c.Value("x").Type())
			}
			reports, err := s.Reports(c.Value("x"))
			if err != nil {
				return nil, err
			}
			cfg := s.Base
			cfg.Reports = reports
			if cfg.Options.Recording.Path, err = s.input(); err != nil {
				return nil, err
			}
			d, err := session.Explain(cfg)
			return b.HelpText(d.Text), err
		},
	}
}

func (s *Workbench) fields() *b.Builtin {
	return &b.Builtin{
		Name:    "fields",
		Group:   b.Workshop,
		Summary: "The fields of an event: name, type, and what every event has.",
		Params: []b.Param{
			{Name: "event", Type: b.Or(b.String, b.Is("stream")), Required: true, Doc: "system:name, cpu-clock and the like, or a stream"},
		},
		Returns:  "help",
		Result:   "one line for each field of the event's own; the members that all samples have",
		Errors:   "no such event, with the nearest name",
		Source:   "the format file in tracefs, or the recording in use",
		Cost:     "none for events",
		Examples: []b.Example{{Code: `fields("sched:sched_switch")`, Live: true}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if name, ok := starlark.AsString(c.Value("event")); ok {
				text, err := s.Fields(name)
				if err != nil {
					return nil, c.Error("event", err, diag.HintOf(err))
				}
				return b.HelpText(text), nil
			}
			sources := Sources(c.Value("event"))
			var text strings.Builder
			for _, src := range sources {
				schemas, err := s.schemasOf(src)
				if err != nil {
					return nil, c.Error("event", err, diag.HintOf(err))
				}
				for _, x := range schemas {
					describe(&text, x)
				}
			}
			return b.HelpText(text.String()), nil
		},
	}
}

// Fields describes the fields of an event, or of all events whose names match a pattern.
func (s *Workbench) Fields(name string) (string, error) {
	schemas, err := s.Schemas(name)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, x := range schemas {
		describe(&text, x)
	}
	return text.String(), nil
}

func describe(w *strings.Builder, s *event.Schema) {
	fmt.Fprintf(w, "%s\n", s.FullName())
	width := 0
	for i := range s.Fields {
		width = max(width, len(s.Fields[i].Name))
	}
	own := map[string]bool{}
	for i := range s.Fields {
		f := &s.Fields[i]
		own[f.Name] = true
		if !strings.HasPrefix(f.Name, "common_") {
			fmt.Fprintf(w, "    %-*s  %s\n", width, f.Name, f.Type)
		}
	}
	var members []string
	for _, n := range s.Names() {
		if !own[n] {
			members = append(members, n)
		}
	}
	fmt.Fprintf(w, "    and of every event: %s\n", strings.Join(members, " "))
}

// schemasOf finds the schemas of a source. Events other than tracepoints have no
// format in tracefs, so they are opened to find their fields.
func (s *Workbench) schemasOf(src *plan.Source) ([]*event.Schema, error) {
	if src.Kind == eventspec.Tracepoint {
		return s.Schemas(src.FullName())
	}
	cfg := s.Base
	var err error
	if cfg.Options.Recording.Path, err = s.input(); err != nil {
		return nil, err
	}
	return session.Schemas(s.Context(), cfg, src)
}

// Schemas finds the schemas of events by name, for tracepoints also by pattern,
// in the recording in use, else in the kernel.
func (s *Workbench) Schemas(name string) ([]*event.Schema, error) {
	if list, err := eventstring.Parse(name, kernel.ParseCPUList); err == nil && len(list) == 1 &&
		list[0].Kind != eventspec.Tracepoint && list[0].Kind != eventspec.Script {
		return s.schemasOf(list[0])
	}
	system, ev, _ := strings.Cut(name, ":")
	input, err := s.input()
	if err != nil {
		return nil, err
	}
	if input != "" {
		f, err := perfdata.Open(input, perfdata.Options{})
		if err != nil {
			return nil, err
		}
		defer f.Close()
		var found []*event.Schema
		var names []string
		for _, st := range f.Streams() {
			names = append(names, st.Schema.FullName())
			if glob.Match(system, st.Schema.System) && glob.Match(ev, st.Schema.Name) {
				found = append(found, st.Schema)
			}
		}
		if found == nil {
			return nil, (&diag.Error{
				Op:      "event",
				Subject: name,
				Cause:   errors.New("not in the recording" + diag.DidYouMean(name, names)),
			}).
				WithHint("recorded were: %s", strings.Join(names, ", "))
		}
		return found, nil
	}
	fs := tracefs.FindFormats()
	names, err := fs.Match(name)
	if err != nil {
		return nil, err
	}
	var found []*event.Schema
	for _, n := range names {
		sys, ev, _ := strings.Cut(n, ":")
		schema, err := fs.Schema(sys, ev)
		if err != nil {
			return nil, err
		}
		found = append(found, schema)
	}
	return found, nil
}

// input returns the path of the recording in use, "" for the kernel.
func (s *Workbench) input() (string, error) {
	if s.recording != nil {
		return s.recording.Path, nil
	}
	return s.lasting(s.Base.Options.Recording.Path)
}

func (s *Workbench) findEvents() *b.Builtin {
	return &b.Builtin{
		Name:    "find_events",
		Group:   b.Workshop,
		Summary: "The tracepoints whose name fits a pattern or has a text in it.",
		Params: []b.Param{
			{Name: "pattern", Type: b.String, Required: true, Doc: `"kvm:*", or part of a name: "wakeup"`},
		},
		Returns:  "list of strings",
		Result:   "sorted names, system:name",
		Errors:   "nothing fits",
		Source:   "tracefs",
		Cost:     "none for events; 5 ms for 2,000 events",
		Examples: []b.Example{{Code: `find_events("sched:*wait*")`, Live: true}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			fs := tracefs.FindFormats()
			pattern := c.String("pattern")
			names, err := fs.Events()
			if err != nil {
				return nil, err
			}
			if strings.ContainsAny(pattern, "*?[") {
				if !strings.Contains(pattern, ":") {
					pattern = "*:" + pattern
				}
				if names, err = fs.Match(pattern); err != nil {
					return nil, c.Error("pattern", err, diag.HintOf(err))
				}
				pattern = ""
			}
			var out []starlark.Value
			for _, n := range names {
				if strings.Contains(n, pattern) {
					out = append(out, starlark.String(n))
				}
			}
			if out == nil {
				return nil, c.Error("pattern",
					fmt.Errorf("no event has %q in its name%s", pattern, diag.DidYouMean(pattern, names)),
					`try find_events("sched:*")`)
			}
			return starlark.NewList(out), nil
		},
	}
}

func (s *Workbench) doctor() *b.Builtin {
	return &b.Builtin{
		Name:     "doctor",
		Group:    b.Workshop,
		Summary:  "Says what works on this machine, and how to fix what does not.",
		Returns:  "help",
		Result:   "one line for each thing that tracing needs",
		Errors:   "none",
		Source:   "tries each thing out",
		Cost:     "none for events",
		Examples: []b.Example{{Code: "doctor()", Live: true}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if s.Doctor == nil {
				return nil, needs(c, "run: ppscript doctor")
			}
			text, err := s.Doctor()
			return b.HelpText(text), err
		},
	}
}

func (s *Workbench) reload() *b.Builtin {
	return &b.Builtin{
		Name:     "reload",
		Group:    b.Workshop,
		Summary:  "Runs the prompt's file again, and the files that statements loaded.",
		Returns:  "None",
		Result:   "their names have the new values; files that were edited are also run again before the next statement",
		Errors:   "no file was loaded; what is wrong in a file: the old names stay",
		Source:   computed,
		Cost:     "none for events",
		Examples: []b.Example{{Code: "reload()", Live: true}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if s.Reload == nil {
				return nil, needs(c, "start with a file: ppscript repl FILE")
			}
			return starlark.None, s.Reload()
		},
	}
}
