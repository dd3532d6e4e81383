package fold

import "ppscript/runtime/event"

// This file reports begins and ends of states to flow.Opens. A state begins with the
// event that sets the member named by Spec.Begin; it ends when that member gets its
// initial value again, or another one.

// changed reports a change of the begin member of a row.
func (f *Fold) changed(r int32, before, since int64) {
	initial := f.spec.Init[f.spec.Begin-1]
	for _, o := range f.spec.Opens {
		if before != initial {
			o.Closed(r)
		}
		if since != initial {
			o.Opened(r, &f.state.begins[r])
		}
	}
}

// broke reports that the state of a row is dropped, because of a loss or a bound.
func (f *Fold) broke(r int32) {
	if f.spec.Begin == 0 || len(f.spec.Opens) == 0 {
		return
	}
	if f.state.rows[int(r)*f.state.stride+rowHead+f.spec.Begin-1] == f.spec.Init[f.spec.Begin-1] {
		return
	}
	for _, o := range f.spec.Opens {
		o.Broke(r)
		o.Closed(r)
	}
}

// Begun returns the event that began the state of a row.
func (f *Fold) Begun(r int32, _ *event.Event) *event.Event { return &f.state.begins[r] }
