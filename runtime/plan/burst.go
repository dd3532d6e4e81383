package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Burst keeps the events of busy times: those from the Count-th on that come
// within WithinNS of the first, by key. The first event after that time begins
// another window.
type Burst struct {
	In       Stream
	Count    int64
	WithinNS int64
	By       *Fn // a number; nil is the instance
}

// Inputs implements Stream.
func (w *Burst) Inputs() []Stream { return []Stream{w.In} }

// A window is where a key is.
type window struct {
	start event.Time
	n     int64
}

// maxWindows bounds the keys; beyond it all begin anew.
const maxWindows = 1 << 16

func (w *Burst) branches(b *builder) ([]branch, error) {
	brs, err := b.branchesOf(w.In)
	if err != nil {
		return nil, err
	}
	by := Fn{Text: Instance}
	if w.By != nil {
		by = *w.By
	}
	if err := by.check(brs); err != nil {
		return nil, err
	}
	windows := map[int64]window{}
	for i := range brs {
		br := &brs[i]
		key, err := b.compile(by, br, expr.Int)
		if err != nil {
			return nil, err
		}
		busy := func(f *expr.Frame, _ []expr.Arg) int64 {
			k := key.Int(f)
			x, known := windows[k]
			if at := f.Event.Time; !known || at-x.start >= event.Time(w.WithinNS) || at < x.start {
				if !known && len(windows) >= maxWindows {
					clear(windows)
				}
				x = window{start: at}
			}
			x.n++
			windows[k] = x
			if x.n >= w.Count {
				return 1
			}
			return 0
		}
		p := expr.Build(&expr.Native{Name: "burst", T: expr.TBool, Effect: true, Int: busy})
		br.preds = append(br.preds[:len(br.preds):len(br.preds)], &pred{"burst", p})
		b.bursts = true
	}
	return brs, nil
}
