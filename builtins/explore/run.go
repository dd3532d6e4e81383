package explore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	b "ppscript/builtins"
	"ppscript/runtime/script/option"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
)

const counted = `x = tracepoint("sched:sched_switch").by("prev_comm").count()`

// maxIntervals bounds the intervals whose results a run keeps.
const maxIntervals = 1000

func (s *Workbench) run() *b.Builtin {
	return &b.Builtin{
		Name:    "run",
		Group:   b.Workshop,
		Summary: "Runs pipelines now and returns their results as values.",
		Params: []b.Param{
			{Name: "x", Type: b.Any, Required: true, Doc: "a stream, table, log or stacks, or a list of them"},
			{Name: "seconds", Type: b.Number, Unit: "s", Default: starlark.MakeInt(5), Doc: "how long to observe; a recording is read to its end"},
			{Name: "input", Type: b.String, Doc: "a recording, or events written down: see ppscript help test"},
			{Name: "limit", Type: b.Int, Unit: "events", Named: true, Doc: "stop after so many"},
			{Name: "interval", Type: b.Number, Unit: "s", Named: true, Default: b.Text("none"), Doc: "a result for each such time, 1,000 at most: they are in .intervals, and the result is the last of them"},
		},
		Returns: "result",
		Result:  "for a list a list of results, in its order; a result has rows (structs), columns, intervals, loss, samples, title, text, and the methods below; a log keeps 10,000 lines",
		Errors:  "a mistake in the pipeline; no permission; no such recording",
		Source:  "as the pipeline's sources",
		Cost:    "as the pipeline; the result stays in memory",
		Examples: []b.Example{
			{Code: counted + "\n" + `[(r.prev_comm, r.count) for r in run(x).top(1).rows]`, Input: "trace.data", Output: `[("sh", 4)]`},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			x := c.Value("x")
			if !runnable(x) {
				return nil, c.Error("x", fmt.Errorf("got %s, want something to run", x.Type()),
					`write run(tracepoint("sched:sched_switch").by("prev_comm").count())`)
			}
			reports, err := s.Reports(x)
			if err != nil {
				return nil, err
			}
			l := Limit{
				Time:   seconds(c),
				Events: uint64(max(c.Int("limit"), 0)),
				Input:  beside(c, c.String("input")),
			}
			if l.Time <= 0 {
				return nil, c.Errorf("seconds", "got %s, want more than 0", c.Value("seconds"))
			}
			l.Every = time.Duration(c.Float("interval") * float64(time.Second))
			if c.Has("interval") && (l.Every <= 0 || l.Time/l.Every > maxIntervals) {
				return nil, c.Errorf("interval", "got %s, want at least %s", c.Value("interval"),
					unit.Duration(int64(l.Time/maxIntervals)))
			}
			watch := c.Host().Unwatched()
			list, err := s.Run(reports, l, false)
			watch()
			if err != nil {
				return nil, err
			}
			return valueOf(x, list), nil
		},
	}
}

func seconds(c *b.Call) time.Duration {
	return time.Duration(c.Float("seconds") * float64(time.Second))
}

// beside resolves a path in a script, which is relative to the script's file. A
// path that the user types is relative to the working directory.
func beside(c *b.Call, path string) string {
	if path == "" || path == "-" || strings.Contains(path, "\n") || filepath.IsAbs(path) {
		return path
	}
	file, _, _ := strings.Cut(c.Pos(), ":")
	if strings.HasPrefix(file, "<") || file == "" {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

func (s *Workbench) script() *b.Builtin {
	return &b.Builtin{
		Name:    "script",
		Group:   b.Workshop,
		Summary: "The pipelines that a profiler or a script file would run, with these options.",
		Params: []b.Param{
			{Name: "which", Type: b.String, Required: true, Doc: "a profiler, a path (./ is beside this file), or host/path//name of a library"},
			{Name: "args", Type: b.String, Rest: "*", Doc: "the script's arguments"},
			{Name: "option", Type: b.Any, Rest: "**", Doc: "its options: a text as on the command line, a value, True for a flag"},
		},
		Returns: "any",
		Result:  "what its main returns, for run(...)",
		Errors:  "no such script; no such option; a mistake in the script",
		Source:  computed,
		Cost:    "none for events",
		Examples: []b.Example{
			{Code: `len(run(script("sched-migrate"))[0])`, Input: "cpus.data", Output: "2"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			name := c.String("which")
			if strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
				name = beside(c, name)
			}
			m, err := s.Load(c.Host(), name)
			if err != nil {
				return nil, err
			}
			if m.Main == nil {
				return nil, c.Error("which", fmt.Errorf("%s has no main", name),
					"load its functions instead: load(...)")
			}
			values, err := optionValues(m.Options, c)
			if err != nil {
				return nil, err
			}
			return c.Host().Run(m, values)
		},
	}
}

// optionValues converts the keyword arguments of script(...) to values of the
// script's options.
func optionValues(set *option.Set, c *b.Call) (*option.Values, error) {
	given := map[string][]string{}
	for _, kv := range c.KW {
		name := string(kv[0].(starlark.String))
		if set != nil {
			if o, ok := set.Find(name); ok {
				name = o.Name
			}
		}
		texts := []string{}
		add := func(v starlark.Value) {
			if t, ok := starlark.AsString(v); ok {
				texts = append(texts, t)
			} else if v == starlark.Bool(true) {
				texts = append(texts, "true")
			} else if v != starlark.None && v != starlark.Bool(false) {
				texts = append(texts, v.String())
			}
		}
		if l, ok := kv[1].(*starlark.List); ok {
			for i := range l.Len() {
				add(l.Index(i))
			}
		} else {
			add(kv[1])
		}
		if len(texts) > 0 {
			given[name] = texts
		}
	}
	var args []string
	for _, v := range c.Rest {
		t, _ := starlark.AsString(v)
		args = append(args, t)
	}
	return set.Values(given, args)
}

// A Recording is the value of record(...): a perf.data file.
type Recording struct {
	Path   string
	Events []string
}

var _ starlark.HasAttrs = (*Recording)(nil)

func (r *Recording) String() string {
	size := ""
	if st, err := os.Stat(r.Path); err == nil {
		size = fmt.Sprintf(", %.1f MiB", float64(st.Size())/(1<<20))
	}
	return fmt.Sprintf("<recording of %s%s>", strings.Join(r.Events, ", "), size)
}
func (r *Recording) Type() string          { return "recording" }
func (r *Recording) Freeze()               {}
func (r *Recording) Truth() starlark.Bool  { return true }
func (r *Recording) Hash() (uint32, error) { return 0, errors.New("unhashable: recording") }
func (r *Recording) AttrNames() []string   { return []string{"events", "path"} }

// Attr returns an attribute.
func (r *Recording) Attr(name string) (starlark.Value, error) {
	switch name {
	case "path":
		return starlark.String(r.Path), nil
	case "events":
		var l []starlark.Value
		for _, e := range r.Events {
			l = append(l, starlark.String(e))
		}
		return starlark.NewList(l), nil
	}
	return nil, nil
}

func (s *Workbench) record() *b.Builtin {
	return &b.Builtin{
		Name:    "record",
		Group:   b.Workshop,
		Summary: "Records events, to look at the same ones again and again.",
		Params: []b.Param{
			{Name: "what", Type: b.Any, Default: b.Text("what ran last"), Doc: "event strings, a pipeline whose events to record, or a list of them"},
			{Name: "seconds", Type: b.Number, Unit: "s", Default: starlark.MakeInt(5), Doc: "how long"},
			{Name: "file", Type: b.String, Named: true, Default: b.Text("a temporary one"), Doc: "the perf.data file to keep"},
		},
		Returns:  "recording",
		Result:   "its path and events; use(recording) has pipelines read it. A temporary file goes with the session",
		Errors:   "no such event; nothing ran yet; no permission; probes and breakpoints cannot be recorded",
		Source:   "perf_event_open; any kernel; CAP_PERFMON and a readable tracefs",
		Cost:     "about 300 ns and 60 bytes for each event",
		Examples: []b.Example{{Code: `rec = record("sched:sched_switch", seconds = 2)`, Live: true}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if s.Record == nil {
				return nil, needs(c, "record on the command line: ppscript record -e EVENTS -o FILE")
			}
			events, err := s.eventsOf(c.Value("what"))
			if err != nil {
				return nil, c.Error("what", err, `name events: record("sched:sched_switch", seconds = 5)`)
			}
			r := &Recording{Path: c.String("file"), Events: events}
			if r.Path == "" {
				dir, err := s.directory()
				if err != nil {
					return nil, err
				}
				r.Path = filepath.Join(dir, "perf.data")
			}
			if err := s.Record(s.Context(), events, r.Path, seconds(c)); err != nil {
				return nil, err
			}
			return r, nil
		},
	}
}

func (s *Workbench) use() *b.Builtin {
	return &b.Builtin{
		Name:    "use",
		Group:   b.Workshop,
		Summary: "Makes pipelines read a recording from now on, or the kernel again.",
		Params: []b.Param{
			{Name: "recording", Type: b.Or(b.Is("recording"), b.String), Doc: "what record returned, or a file; None: the kernel"},
		},
		Returns:  "None",
		Result:   "nothing",
		Errors:   "no such file",
		Source:   computed,
		Cost:     "none for events",
		Examples: []b.Example{{Code: `use("sched.data")`, Live: true}, {Code: "use(None)", Live: true}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			switch v := c.Value("recording").(type) {
			case *Recording:
				s.recording = v
			case starlark.String:
				path := beside(c, string(v))
				if _, err := os.Stat(path); err != nil {
					return nil, c.Error("recording",
						&diag.Error{Op: "open", Subject: path, Cause: diag.Reason(err)},
						"record one: record(seconds = 5)")
				}
				s.recording = &Recording{Path: path}
			default:
				s.recording = nil
			}
			return starlark.None, nil
		},
	}
}
