package frontend

import (
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/eventview"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// A BatchFunc is a script's function of a list of events. The list and the
// views in it are reused for the next batch, and are invalid after the call. It
// belongs to one goroutine.
type BatchFunc struct {
	f     *Func
	views []*eventview.View
	args  starlark.Tuple
}

// maxBatch bounds the events of one call, so that a slow script does not get
// longer and longer lists.
const maxBatch = 1024

// NewBatchFunc freezes fn and prepares it. fn must accept one argument.
func NewBatchFunc(h *script.Host, fn starlark.Callable) (*BatchFunc, error) {
	if f, ok := fn.(*starlark.Function); ok && !acceptsOne(f) {
		return nil, h.At(f.Position(), &diag.Error{
			Cause: fmt.Errorf("function %s takes %d arguments, want 1: the list of events",
				f.Name(), required1(f)),
			Hint: "write it as def " + f.Name() + "(events):"})
	}
	if err := h.Freeze(fn); err != nil {
		return nil, err
	}
	return &BatchFunc{f: prepare(h, fn), args: make(starlark.Tuple, 1)}, nil
}

// Bind makes the computed values (let) of the events attributes.
func (b *BatchFunc) Bind(events []*expr.Scope) { b.f.bind(events) }

// CallBatch calls the function for at most maxBatch events at a time.
//
// Fast path: one list for each batch; the views are made once.
func (b *BatchFunc) CallBatch(evs []*event.Event) error {
	for len(evs) > 0 {
		n := min(len(evs), maxBatch)
		if err := b.call(evs[:n]); err != nil {
			return err
		}
		evs = evs[n:]
	}
	return nil
}

func (b *BatchFunc) call(evs []*event.Event) error {
	for len(b.views) < len(evs) {
		b.views = append(b.views, b.f.views[0].Another())
	}
	list := make([]starlark.Value, len(evs))
	for i, e := range evs {
		b.views[i].Show(e)
		list[i] = b.views[i]
	}
	defer func() {
		for _, v := range b.views[:len(evs)] {
			v.Show(nil)
		}
	}()
	l := starlark.NewList(list)
	l.Freeze()
	b.args[0] = l
	_, err := b.f.invoke(b.args, b.views[0], nothing)
	return err
}
