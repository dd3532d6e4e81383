package session

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"ppscript/bpf/hookcost"
	"ppscript/bpf/load"
	"ppscript/bpf/walk"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventkind"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/system/memory"
	"ppscript/runtime/target/cgroup"
	"ppscript/runtime/target/task"
	"ppscript/runtime/target/threadset"
)

// An env has the sources of events: the running kernel, or recordings.
type env struct {
	cfg     *Config
	msgs    *messages
	rec     *recordings
	events  *catalog
	tasks   *task.Table
	cgroups cgroups
	watch   threadset.Set
	refused map[string]bool // events whose filter the kernel refused
	// sender holds the programs that send events; nil if there are none.
	// noProjection may then say why.
	sender       *load.Run
	noProjection string
	sieves       sieves
	memory       *expr.Kernel                 // the kernel's memory for expressions; nil for recordings
	idle         func(kernel.IdlePart) string // see placement.Env
	hiding       func(*event.Schema) string   // see placement.Env; nil for recordings
	tending
}

// A tending has the periodic work for running programs: cleaning their sets and
// maps, and giving them unwind tables.
type tending struct {
	quiet  quiet
	swept  time.Time    // time of the last cleaning of their set of processes
	tables *walk.Loader // unwind tables of programs that walk stacks; nil if none do
}

func open(ctx context.Context, cfg *Config) (*env, error) {
	limits := &cfg.Options.Limits
	limits.budget = memory.New(cmp.Or(limits.Memory, memory.Default()))
	w := &env{
		cfg:     cfg,
		msgs:    newMessages(cfg),
		tasks:   task.New(task.Options{NoProc: cfg.Options.Recording.Path != ""}),
		refused: map[string]bool{},
	}
	if cfg.Options.Recording.Path == "" {
		find := sync.OnceValue(hookcost.FindHiding)
		w.hiding = func(s *event.Schema) string {
			if e := (perf.EventConfig{Schema: s}); !e.Tracepoint() {
				return ""
			}
			return find().At(s.ID)
		}
		w.memory = expr.NewKernel(kerneltype.Running())
	}
	w.rec = &recordings{cfg: cfg, msgs: w.msgs, opening: ctx}
	w.events = newCatalog(cfg, w.msgs, w.rec)
	w.idle = triedIdle(w.events.here.Tracefs)
	return w, w.rec.open()
}

// triedIdle tests once, on first use, whether perf delivers events of idle
// tasks.
func triedIdle(tracefs func() string) func(kernel.IdlePart) string {
	cpus := sync.OnceValue(func() []int {
		list, _ := kernel.OnlineCPUs() // without a list, no CPU is tested
		return list
	})
	events := sync.OnceValue(func() []kernel.IdleTrial { return kernel.TryIdle(tracefs(), cpus()) })
	samples := sync.OnceValue(func() []kernel.IdleTrial {
		return kernel.TryIdleSamples(kernel.Roots{}, cpus())
	})
	return func(part kernel.IdlePart) string {
		if part == kernel.IdleSamples {
			return kernel.SilentIdle(samples(), part)
		}
		return kernel.SilentIdle(events(), part)
	}
}

func (w *env) close() error {
	return errors.Join(w.events.here.Close(), w.rec.close(), w.cgroups.close(w.msgs))
}

func (w *env) env(cfg *Config) plan.Env {
	services := w.services()
	if h := cfg.Hooks.Services; h != nil {
		h(services)
	}
	return plan.Env{
		Catalog:       w.events,
		Services:      services,
		Replay:        w.rec.file != nil,
		Describes:     w.events.here.Describes,
		NativeFilters: w.refused,
		ByThread:      cfg.Target.ByThread(),
		Interpret:     cfg.Options.Reading.Interpret,
		Raw:           cfg.Options.Show.Raw,
		MaxRows:       int(min(cfg.Options.Limits.Rows, 1<<24)),
		Memory:        cfg.Options.Limits.budget,
		Note:          func(err error) { w.msgs.sayOnce(err.Error()) },
		KernelEnv:     w.kernelEnv(),
		Quotas:        w.quotas,
	}
}

// quotas reports that a cgroup of this machine has a CPU quota; nil for a recording.
func (w *env) quotas() bool { return w.rec.file == nil && cgroup.AnyQuota(kernel.Roots{}) }

// services returns the services for expressions: the caller's, some replaced by
// the session's own.
func (w *env) services() *expr.Services {
	var s expr.Services
	if w.cfg.Services != nil {
		s = *w.cfg.Services
	}
	s.Traced, s.Kernel = w.watch.Traced, w.memory
	if s.Comm == nil {
		s.Comm = w.tasks.Comm
	}
	s.NameOf = w.cgroups.show
	if s.SyscallName == nil {
		s.SyscallName = func(nr int64) string { return kernel.SyscallName(w.rec.arch(), nr) }
	}
	if s.ExitReason == nil {
		s.ExitReason = eventkind.ExitReasons(func(spec eventspec.Spec) *event.Schema {
			if found, err := w.events.Find(&plan.Source{Spec: spec}); err == nil && len(found) > 0 {
				return found[0]
			}
			return nil
		})
	}
	return &s
}
