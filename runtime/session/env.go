package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"ppscript/bpf"
	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/glob"
	"ppscript/runtime/kernel"
	"ppscript/runtime/perfdata"
	"ppscript/runtime/plan"
	"ppscript/runtime/relay"
	"ppscript/runtime/symbol"
	"ppscript/runtime/task"
	"ppscript/runtime/tracefs"
)

// An env is where events come from: the running kernel, or a recording.
type env struct {
	cfg *Config
	// opening ends when nobody wants to wait any longer for the descriptions
	// of events from elsewhere: a plan asks for these events by name.
	opening context.Context
	fs      *tracefs.FS // found at the first tracepoint
	file    *relay.Source
	symbols *symbol.Kernel
	tasks   *task.Table
	watch   watch
	refused map[string]bool // events whose filter the kernel refused
	// sender is the programs that send events; nil if there are none, and
	// noCompact then may say why.
	sender       *bpf.Run
	noProjection string
	probes       probes
	said         map[string]bool // messages given already
	remotes      []*remote       // events from elsewhere
	// dry says that nothing is connected to: a plan is only described.
	dry bool
	// accesses are the events of memory accesses that were found.
	accesses map[*event.Schema]kernel.MemoryEvent
	// place appends the symbol of an address of an event; nil: of the kernel
	// only.
	place func(dst []byte, e *event.Event, ip uint64) []byte
}

func open(ctx context.Context, cfg *Config) (*env, error) {
	w := &env{opening: ctx, cfg: cfg, refused: map[string]bool{}, symbols: symbol.NewKernel(""),
		tasks: task.New(task.Options{NoProc: cfg.Options.Recording.Path != ""})}
	if cfg.Options.Recording.Path == "" {
		return w, nil
	}
	var err error
	opt := perfdata.Options{Ordered: true, MaxPending: cfg.Options.Reading.OrderBytes}
	if w.file, err = relay.Open(ctx, cfg.Options.Recording.Path, opt); err != nil {
		return w, err
	}
	for _, path := range cfg.Options.Recording.More {
		file, err := relay.Open(ctx, path, opt)
		if err != nil {
			return w, errors.Join(err, w.close())
		}
		w.addRemote(path, file)
	}
	return w, nil
}

func (w *env) close() error {
	err := errors.Join(w.probes.resolver.Close(), w.closeRemotes())
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	return err
}

// readLoss counts the unreadable parts of all recordings, and of events
// sent from elsewhere.
func (w *env) readLoss() event.Loss {
	var l event.Loss
	if w.file != nil {
		l.Add(w.file.Loss())
	}
	for _, r := range w.remotes {
		l.Add(r.file.Loss())
	}
	return l
}

// recording describes the recording that events come from; nil if there is none.
func (w *env) recording() *perfdata.Info {
	if w.file == nil {
		return nil
	}
	return w.file.Info()
}

func (w *env) env(cfg *Config) plan.Env {
	services := w.services()
	if h := cfg.Hooks.Services; h != nil {
		h(services)
	}
	return plan.Env{
		Catalog:       w,
		Services:      services,
		Replay:        w.file != nil,
		NativeFilters: w.refused,
		ByThread:      cfg.Target.ByThread(),
		Interpret:     cfg.Options.Reading.Interpret,
		Note:          func(err error) { w.sayOnce(err.Error()) },
		KernelEnv:     w.kernelEnv(),
	}
}

// services are those for expressions: the caller's, and ours where we know better.
func (w *env) services() *expr.Services {
	var s expr.Services
	if w.cfg.Services != nil {
		s = *w.cfg.Services
	}
	s.Traced = w.watch.traced
	if s.Comm == nil {
		s.Comm = w.tasks.Comm
	}
	if s.SyscallName == nil {
		s.SyscallName = func(nr int64) string { return kernel.SyscallName(w.arch(), nr) }
	}
	if s.ExitReason == nil {
		s.ExitReason = w.exitReasons()
	}
	return &s
}

// arch is the architecture of the events, as a GOARCH.
func (w *env) arch() string {
	if w.file == nil {
		return runtime.GOARCH
	}
	switch w.file.Info().Arch {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return runtime.GOARCH
}

func (w *env) say(format string, args ...any) {
	if w.cfg.Messages != nil {
		w.cfg.Messages(fmt.Sprintf(format, args...))
	}
}

// note is say for messages that are only kind to know.
func (w *env) note(format string, args ...any) {
	if w.cfg.Notes != nil {
		w.cfg.Notes(fmt.Sprintf(format, args...))
	}
}

// Find implements plan.Catalog.
func (w *env) Find(s *plan.Source) ([]*event.Schema, error) {
	schemas, err := w.find(s)
	if s.Kind != plan.Tracepoint || s.OrElse == "" {
		return schemas, err
	}
	lacking := cmp.Or(s.OrElseOf, s.FullName())
	for _, have := range schemas {
		if name := have.FullName(); name == lacking || name == s.OrElse {
			return schemas, err
		}
	}
	other := &plan.Source{Kind: plan.Tracepoint}
	other.System, other.Name, _ = strings.Cut(s.OrElse, ":")
	instead, otherErr := w.find(other)
	if otherErr != nil {
		return schemas, err
	}
	w.sayOnce(lacking + " is not there: " + s.OrElse + " is taken instead")
	return append(schemas, instead...), nil
}

func (w *env) find(s *plan.Source) ([]*event.Schema, error) {
	if s.Pulled() {
		return w.pulled(s)
	}
	if w.file != nil {
		return w.recorded(s)
	}
	if s.Probe != nil {
		return w.findProbes(s)
	}
	if s.Memory != nil {
		return w.memoryEvents(s)
	}
	if s.Kind != plan.Tracepoint {
		schema, err := w.named(s)
		if err != nil {
			return nil, err
		}
		return []*event.Schema{schema}, nil
	}
	if err := w.tracefs(); err != nil {
		return nil, err
	}
	if !isPattern(s) {
		schema, err := w.fs.Schema(s.System, s.Name)
		if err != nil {
			return nil, err
		}
		return []*event.Schema{schema}, nil
	}
	names, err := w.fs.Match(s.System + ":" + s.Name)
	if err != nil {
		return nil, err
	}
	schemas := make([]*event.Schema, 0, len(names))
	for _, n := range names {
		sys, name, _ := strings.Cut(n, ":")
		schema, err := w.fs.Schema(sys, name)
		if err != nil {
			return nil, err
		}
		schemas = append(schemas, schema)
	}
	return schemas, nil
}

// isPattern reports that a source stands for all tracepoints that it fits.
func isPattern(s *plan.Source) bool {
	return s.Kind == plan.Tracepoint && strings.ContainsAny(s.System+s.Name, "*?[")
}

// patternOf is the pattern by which a source's events are found, "" if it names
// one.
func patternOf(s *plan.Source) string {
	if !isPattern(s) {
		return ""
	}
	return s.FullName()
}

func (w *env) tracefs() error {
	if w.fs != nil {
		return nil
	}
	fs, err := tracefs.Find()
	if err != nil {
		return err
	}
	fs.Options.Ksym = w.symbols.Ksym
	w.fs = fs
	return nil
}

// recorded finds a source's events among those of the recording.
func (w *env) recorded(s *plan.Source) ([]*event.Schema, error) {
	var found []*event.Schema
	var names []string
	for _, st := range w.file.Streams() {
		names = append(names, st.Schema.FullName())
		if matches(s, st.Schema) {
			found = append(found, w.describe(st.Schema))
		}
	}
	for _, r := range w.remotes {
		for _, st := range r.file.Streams() {
			if matches(s, st.Schema) {
				found = append(found, w.describe(st.Schema))
			}
		}
	}
	if len(found) == 0 && s.Optional {
		return nil, &diag.Error{
			Op:      "event",
			Subject: s.FullName(),
			Class:   diag.Attach,
			Cause:   errors.New("not in the recording"),
		}
	}
	if len(found) == 0 {
		e := &diag.Error{Op: "event", Subject: s.FullName(), Class: diag.Attach,
			Cause: errors.New("not in the recording" + diag.DidYouMean(s.FullName(), names))}
		if ws := w.file.Warnings(); len(ws) > 0 {
			return nil, e.WithHint("the recording is damaged (%s); recorded were: %s", ws[0],
				strings.Join(names, ", "))
		}
		return nil, e.WithHint("recorded were: %s", strings.Join(names, ", "))
	}
	return found, nil
}

// matches reports that a recorded event is what a source names.
func matches(s *plan.Source, schema *event.Schema) bool {
	if s.Kind == plan.Tracepoint {
		return glob.Match(s.System, schema.System) && glob.Match(s.Name, schema.Name)
	}
	if s.Probe != nil {
		return glob.Match(s.Probe.Kind.String(), schema.System) && glob.Match(s.Name, schema.Name)
	}
	return recordedAs(s, schema)
}
