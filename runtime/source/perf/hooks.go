package perf

import (
	"context"
	"errors"
	"time"
)

// Hooks are events whose samples are handled by programs of the kernel, without
// rings and records. The members of Config about records have no effect. A
// Hooks is used by one goroutine.
type Hooks struct{ src Source }

// OpenHooks opens the events of cfg, each with its Program, on the target and
// starts them. On an error nothing stays open.
func OpenHooks(ctx context.Context, cfg Config) (*Hooks, error) {
	cfg.SideBand = SideBand{}
	h := &Hooks{src: Source{cfg: cfg, state: state{hooked: true}}}
	if err := h.src.cfg.check(); err != nil {
		return nil, err
	}
	if err := h.src.start(ctx, true); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Opened returns the number of open descriptors: each event counts once for
// each of its CPUs and tasks.
func (h *Hooks) Opened() int { return h.src.opened }

// Follow opens the events on CPUs that came online. It must be called from time
// to time.
func (h *Hooks) Follow() { h.src.follow(time.Now()) }

// Gaps is Source.Gaps.
func (h *Hooks) Gaps() uint64 { return h.src.Gaps() }

// Stop disables the events.
func (h *Hooks) Stop() error { return h.src.Stop() }

// Close closes everything.
func (h *Hooks) Close() error { return h.src.Close() }
