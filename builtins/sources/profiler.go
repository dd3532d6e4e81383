package sources

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	b "ppscript/builtins"
	"ppscript/builtins/pipeline"
	"ppscript/runtime/plan"
	"ppscript/runtime/script"
	"ppscript/runtime/script/option"
	"ppscript/runtime/source/eventkind"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
	"ppscript/stdlib"

	"github.com/spf13/pflag"
	"go.starlark.net/starlark"
)

// This file declares profiler(...) and pairs_of(...): the events of a profiler
// as a source. The profiler is given by name, with options as on a command
// line.

func profiler() *b.Builtin {
	return &b.Builtin{
		Name:    "profiler",
		Group:   b.Sources,
		Summary: "The events that a profiler shows, as a stream.",
		Params: []b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: "as on the command line: task-state, profile, page-faults, kvm-exit, ..."},
			{Name: "options", Type: b.Or(b.String, b.ListOf(b.String)), Default: starlark.String(""), Doc: `its options, "-F 200 -g", or a list of words; also -C LIST for its events and -N COUNT to end it`},
			{Name: "alias", Type: b.String, Named: true, Doc: "what results call its events"},
		},
		Returns: "stream",
		Result:  "the events of its log, with stacks if it takes them; for a profiler without a log, the events that its tables count, such as pairs and states",
		Errors:  "no such profiler or option; a profiler that counts in the kernel, or uses no events",
		Source:  "that of the profiler; its events are attached like the others of the run, or to CPUs if it needs events of other threads",
		Cost:    "that of the profiler",
		Examples: []b.Example{
			{Code: `profiler("task-state", "--than 10ms")`, Output: "<stream task-state>"},
			{Code: `merge(tracepoint("raw_syscalls:sys_enter", filter = "id > 200"), profiler("page-faults", "-N 10")).log()`, Output: "<log>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			list := c.Strings("options")
			if text, ok := starlark.AsString(c.Value("options")); ok {
				var err error
				if list, err = splitWords(text); err != nil {
					return nil, c.Error("options", err, "close the quote")
				}
			}
			as := &plan.Source{Spec: eventspec.Spec{
				Kind:  eventspec.Script,
				Name:  strings.ReplaceAll(c.String("name"), "_", "-"),
				Alias: c.String("alias"),
				Pos:   c.Pos(),
			}}
			return serve(c.Host(), as, list)
		},
	}
}

func pairsOf() *b.Builtin {
	return &b.Builtin{
		Name:    "pairs_of",
		Group:   b.Sources,
		Summary: "The pairs, or other spans, of a profiler, for other questions about them.",
		Params: []b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: "as on the command line: rundelay, syscalls, kvm-exit, multi-trace, ..."},
			{Name: "options", Type: b.Or(b.String, b.ListOf(b.String)), Default: starlark.String(""), Doc: "its options, as of profiler()"},
		},
		Returns: "stream",
		Result:  "all pairs of its first result of pairs, also those that the result leaves out because of a bound",
		Errors:  "no such profiler or option; one without pairs",
		Source:  "that of the profiler",
		Cost:    "that of the profiler",
		Examples: []b.Example{
			{Code: `pairs_of("rundelay").why(than = 20 * ms)`, Output: "<why>"},
			{Code: `pairs_of("syscalls").by("start.nr").agg(worst = agg.max("delay"))`, Output: "<table of start.nr, worst>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			words := c.Strings("options")
			if text, ok := starlark.AsString(c.Value("options")); ok {
				var err error
				if words, err = splitWords(text); err != nil {
					return nil, c.Error("options", err, "close the quote")
				}
			}
			name := strings.ReplaceAll(c.String("name"), "_", "-")
			as := &plan.Source{Spec: eventspec.Spec{Kind: eventspec.Script, Name: name, Pos: c.Pos()}}
			p := &plan.Profiler{As: as}
			own, reports, err := served(c.Host(), p, words)
			if err != nil {
				return nil, err
			}
			for _, r := range reports {
				in := r.Input()
				if in == nil {
					continue
				}
				if pairs, spans := streamKind(in); pairs || spans {
					p.In = append(p.In, in)
					return &pipeline.Stream{S: in, Pairs: pairs, Spans: spans}, onlyOn(p, own.cpus)
				}
			}
			return nil, c.Error("name", fmt.Errorf("%s relates no events in pairs", as.Name),
				"profilers with pairs are: rundelay, syscalls, kvm-exit, multi-trace, nested-trace, ...")
		},
	}
}

// streamKind reports whether the events of a stream are pairs of a join, or other
// spans.
func streamKind(s plan.Stream) (pairs, spans bool) {
	switch s := s.(type) {
	case *plan.Join:
		return true, false
	case *plan.Fold:
		return false, s.Begin != ""
	case *plan.During:
		return false, true
	case *plan.Where, *plan.Let:
		return streamKind(s.Inputs()[0])
	}
	return false, false
}

// Check finds mistakes in the options of profilers that event strings name. It
// is called before the script runs, since these are mistakes of the user, not
// of the script.
func Check(h *script.Host, list []*plan.Source) error {
	for _, s := range list {
		if s.Kind != eventspec.Script {
			continue
		}
		if _, err := ofString(h, s); err != nil {
			return err
		}
	}
	return nil
}

// ofString makes the stream of a profiler that an event string names, or of an event
// of a PMU such as msr/tsc/. A profiler is untraced in joins unless the string sets
// how it takes part.
func ofString(h *script.Host, s *plan.Source) (*pipeline.Stream, error) {
	if _, ok := stdlib.Find(s.Name); !ok {
		if e := eventkind.OfPMU(s); e != nil {
			return &pipeline.Stream{S: e}, nil
		}
	}
	if s.Exclude != (eventspec.Exclude{}) || s.Precise > 0 || s.Pinned {
		return nil, diag.Errorf(diag.Usage, "event", s.Pos, "a profiler has no modifiers").
			WithHint("give its options between the slashes: profile/--exclude-kernel/")
	}
	words, err := splitWords(s.Filter)
	if err != nil {
		return nil, diag.Errorf(diag.Usage, "options of", s.Name, "%w", err).WithHint("close the quote")
	}
	for _, a := range s.Attrs {
		switch a.Name {
		case "exec", "push", "pull", "vm", "index", "stack", "max-stack", "period", "freq":
			return nil, diag.Errorf(diag.Usage, "event", s.Pos, "a profiler has no attribute %s", a.Name).
				WithHint("options of the profiler go between the first slashes: profile/-F 200 -g/untraced/")
		case "cpus":
			words = append(words, "-C", a.Value)
		}
	}
	as := *s
	as.Filter = ""
	if len(s.Attr("key"))+len(s.Attr("role")) == 0 {
		as.Attrs = append(slices.Clip(s.Attrs), eventspec.Attr{Name: "untraced"})
	}
	return serve(h, &as, words)
}

// serve runs the profiler's main and makes a stream from the events that its
// results would show.
func serve(h *script.Host, as *plan.Source, words []string) (*pipeline.Stream, error) {
	p := &plan.Profiler{As: as}
	own, reports, err := served(h, p, words)
	if err != nil {
		return nil, err
	}
	if p.In = shownStreams(reports); len(p.In) == 0 {
		return nil, diag.Errorf(diag.Usage, "profiler", as.Name,
			"cannot be a source: it reads counters, or answers without events").
			WithHint("profilers that can: task-state, profile, page-faults, breakpoint, kvm-exit, syscalls, ...")
	}
	p.Texts = shownTexts(reports)
	return &pipeline.Stream{S: p}, onlyOn(p, own.cpus)
}

// ofAnySystem returns up to three tracepoints with a name, in any system; none if tracefs cannot
// be read.
func ofAnySystem(name string) []string {
	found, err := tracefs.FindFormats().Match("*:" + strings.ReplaceAll(name, "-", "_"))
	if err != nil {
		return nil
	}
	return found[:min(len(found), 3)]
}

// served parses the words as options of the profiler, and runs its main with
// them.
func served(h *script.Host, p *plan.Profiler, words []string) (*profilerArgs, []plan.Report, error) {
	as := p.As
	file, ok := stdlib.Find(as.Name)
	if !ok {
		if found := ofAnySystem(as.Name); len(found) > 0 {
			return nil, nil, diag.Errorf(diag.Usage, "event", strings.ReplaceAll(as.Name, "-", "_"),
				"its system is missing").WithHint("write %s", strings.Join(found, ", or "))
		}
		var names []string
		for _, n := range stdlib.Names() {
			names = append(names, strings.ReplaceAll(n, "_", "-"))
		}
		return nil, nil, diag.Errorf(diag.Usage, "event", as.Name, "neither system:name nor a profiler%s",
			diag.DidYouMean(as.Name, names)).
			WithHint("list the events with: ppscript list events, the profilers with: ppscript list")
	}
	m, err := h.Load("@stdlib//" + file)
	if err != nil {
		return nil, nil, err
	}
	p.WholeCPUs = m.Options != nil && m.Options.WholeCPUs
	own, err := parseWords(m.Options, p, words)
	if err != nil {
		return nil, nil, err
	}
	values, err := m.Options.Values(own.given, own.args)
	if err != nil {
		return nil, nil, of(as.Name, err)
	}
	v, err := h.Serve(m, values)
	if err != nil {
		return nil, nil, err
	}
	reports, err := pipeline.Reports(v, false)
	if err != nil {
		return nil, nil, of(as.Name, err)
	}
	return own, reports, nil
}

// onlyOn restricts the profiler's events to some CPUs; nil is no restriction.
func onlyOn(p *plan.Profiler, cpus []int) error {
	if cpus == nil {
		return nil
	}
	var walk func(s plan.Stream) error
	walk = func(s plan.Stream) error {
		if src, ok := s.(*plan.Source); ok {
			if src.CPUs == nil {
				src.CPUs = cpus
				return nil
			}
			src.CPUs = slices.DeleteFunc(slices.Clone(src.CPUs), func(cpu int) bool {
				return !slices.Contains(cpus, cpu)
			})
			if len(src.CPUs) == 0 {
				return diag.Errorf(diag.Usage, "profiler", p.As.Name, "-C leaves no CPU for %s",
					src.FullName()).
					WithHint("name other CPUs")
			}
		}
		for _, in := range s.Inputs() {
			if err := walk(in); err != nil {
				return err
			}
		}
		return nil
	}
	for _, s := range p.In {
		if err := walk(s); err != nil {
			return err
		}
	}
	return nil
}

// of adds the name of the profiler to an error.
func of(name string, err error) error {
	d, ok := err.(*diag.Error)
	if !ok {
		return err
	}
	e := *d
	e.Op = name + ": " + d.Op
	return &e
}

// profilerArgs is the parsed command line of a profiler.
type profilerArgs struct {
	given map[string][]string
	args  []string
	cpus  []int
}

// A texts collects the values of an option.
type texts struct{ list *[]string }

func (t texts) String() string     { return "" }
func (t texts) Type() string       { return "" }
func (t texts) Set(s string) error { *t.list = append(*t.list, s); return nil }

// followed is the reason why a source cannot have its own --inherit or
// --ptrace.
const followed = "all sources of a run observe the same threads; give it to the run itself"

// shared are the common options that a source accepts. If why is not "", the
// option has no effect in a source, for this reason.
var shared = []struct{ name, short, alone, why string }{
	{"mmap-pages", "m", "", "all events of a run share its rings"},
	{"watermark", "", "", "all events of a run share its rings"},
	{"order", "", "true", ""},
	{"order-mem", "", "", ""},
	{"interval", "i", "", "the tables of a source are not shown"},
	{"ptrace", "", "true", followed},
	{"inherit", "", "true", followed},
	{"cpus", "C", "", ""},
	{"exit-N", "N", "", ""},
}

// parseWords parses words as the options and arguments of a profiler.
func parseWords(set *option.Set, p *plan.Profiler, words []string) (*profilerArgs, error) {
	out := &profilerArgs{given: map[string][]string{}}
	fs := pflag.NewFlagSet(p.As.Name, pflag.ContinueOnError)
	fs.Usage = func() {}
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	values := map[string]*[]string{}
	add := func(name, short, alone string) {
		list := new([]string)
		values[name] = list
		if short != "" && fs.ShorthandLookup(short) != nil {
			short = ""
		}
		fs.VarPF(texts{list}, name, short, "").NoOptDefVal = alone
	}
	if set != nil {
		for i := range set.Options {
			o := &set.Options[i]
			if o.Positional {
				continue
			}
			alone := o.Alone
			if o.Type == option.Flag {
				alone = "true"
			}
			add(o.Flag(), o.Short, alone)
		}
	}
	for _, o := range shared {
		if values[o.name] == nil {
			add(o.name, o.short, o.alone)
		}
	}
	if err := fs.Parse(set.Join(words)); err != nil {
		return nil, diag.Errorf(diag.Usage, "options of", p.As.Name, "%w", err).
			WithHint("list them: ppscript %s --help; what is observed is what the command observes",
				p.As.Name)
	}
	out.args = fs.Args()
	return out, out.take(set, p, values)
}

// take stores the values of the given options: the profiler's own, and the
// shared ones.
func (out *profilerArgs) take(set *option.Set, p *plan.Profiler, values map[string]*[]string) error {
	for name, list := range values {
		if len(*list) == 0 {
			continue
		}
		if o, own := set.Find(name); own {
			out.given[o.Name] = *list
			continue
		}
		last := (*list)[len(*list)-1]
		switch name {
		case "cpus":
			cpus, err := kernel.ParseCPUList(last)
			if err != nil {
				return diag.Errorf(diag.Usage, "options of", p.As.Name, "-C: %w", err).
					WithHint("%s", diag.HintOf(err))
			}
			out.cpus = cpus
		case "exit-N":
			if _, err := fmt.Sscan(last, &p.Limit); err != nil || p.Limit == 0 {
				return diag.Errorf(diag.Usage, "options of", p.As.Name, "-N: got %q, want a number of events",
					last).
					WithHint("write -N 10")
			}
		}
	}
	for _, o := range shared {
		if list := values[o.name]; len(*list) > 0 && o.why != "" && out.given[o.name] == nil {
			p.Notes = append(p.Notes,
				fmt.Errorf("%s: --%s has no effect in a source: %s", p.As.Name, o.name, o.why))
		}
	}
	return nil
}

// splitWords splits a text at blanks outside quotes, as a shell does.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quote := false, rune(0)
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '"' || c == '\'':
			in, quote = true, c
		case c == ' ' || c == '\t' || c == '\n':
			if in {
				words = append(words, word.String())
				word.Reset()
			}
			in = false
		default:
			in = true
			word.WriteRune(c)
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote does not end")
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}
