package fleet

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"ppscript/runtime/result/mergeable"
)

// An item is a frame that waits at a merger until the asker has counted it.
type item struct {
	id   [sha256.Size]byte
	name string // of the sender: a host, or another merger
	// several says that a merger sent it, so that it has results of several
	// hosts. A host may send only its own.
	several bool
	raw     []byte
	shares  []mergeable.Share
	reply   string // where to send the answer; "": no answer. The merger's lock guards it
}

// decode decodes the frame. If the job keeps hosts apart, it decodes only the head: the
// asker decodes the results.
func (it *item) decode(apart bool, dropped uint64) (f *mergeable.Frame, err error) {
	if apart {
		f, err = mergeable.Head(it.raw)
	} else {
		f, err = mergeable.Decode(it.raw)
	}
	if err != nil {
		return nil, err
	}
	if it.several != (len(f.Shares) > 0) {
		return nil, errShares
	}
	if it.shares = f.Shares; !it.several {
		f.Host = it.name
		own := f.Share()
		own.Dropped = dropped
		if apart {
			own.Frame = it.raw
		}
		it.shares = []mergeable.Share{own}
	}
	return f, nil
}

// A batchKey identifies frames that can be merged: they have the same job, route, script and
// window.
type batchKey struct {
	job, route string
	script     [32]byte
	end        int64
}

// A batch holds frames that a merger sends to the next level as one frame.
type batch struct {
	key   batchKey
	route route
	more  chan struct{} // has a value after a frame was added

	mu     sync.Mutex
	window *mergeable.Window // the merged results; nil if hosts are kept apart
	items  []*item
	frames map[FrameID]bool
	bytes  int
	closed bool // it is being sent; no frame can be added
	spoilt bool // a part of a frame that could not be merged is in window
}

var (
	errTwice = errors.New("it has a frame that is here already")
	errOver  = errors.New("the merger ends")
	// errShares is the error for a frame whose sender is not the one that its subject names.
	errShares = errors.New("it does not name the hosts of its results, or names other hosts")
)

// gather adds a frame to the batch of its window.
func (g *Merger) gather(ctx context.Context, key batchKey, r *route, it *item, f *mergeable.Frame) error {
	for {
		b := g.batch(ctx, key, r)
		if b == nil {
			return errOver
		}
		if ok, err := b.put(it, f); ok || err != nil {
			return err
		}
	}
}

// batch returns the open batch for a key, or begins one; nil when the merger ends.
func (g *Merger) batch(ctx context.Context, key batchKey, r *route) *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.batches[key]
	if b == nil && !g.over {
		b = &batch{key: key, route: *r, more: make(chan struct{}, 1), frames: map[FrameID]bool{}}
		if !r.apart {
			b.window = mergeable.NewMerger(nil).NewWindow()
		}
		g.batches[key] = b
		g.all.Go(func() {
			b.fill(g.ends)
			g.mu.Lock()
			delete(g.batches, key)
			g.mu.Unlock()
			b.mu.Lock()
			b.closed = true
			b.mu.Unlock()
			window := b.window
			if b.spoilt {
				window = nil
			}
			g.bring(ctx, b, b.items, window)
		})
	}
	return b
}

// put adds a frame; false if the batch is closed.
func (b *batch) put(it *item, f *mergeable.Frame) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false, nil
	}
	for i := range it.shares {
		if b.frames[FrameID{it.shares[i].Host, it.shares[i].Seq}] {
			return false, errTwice
		}
	}
	if b.window != nil {
		if err := b.window.Add(f); err != nil {
			b.spoilt = true
			return false, err
		}
	}
	for i := range it.shares {
		b.frames[FrameID{it.shares[i].Host, it.shares[i].Seq}] = true
	}
	b.items = append(b.items, it)
	b.bytes += len(it.raw)
	select {
	case b.more <- struct{}{}:
	default:
	}
	return true, nil
}

// fill waits until the batch is full, no frame has come for quietTime, or
// gatherTime has passed.
func (b *batch) fill(ends <-chan struct{}) {
	full := time.NewTimer(gatherTime)
	defer full.Stop()
	quiet := time.NewTimer(quietTime)
	defer quiet.Stop()
	for {
		select {
		case <-b.more:
			b.mu.Lock()
			bytes := b.bytes
			b.mu.Unlock()
			if b.route.apart && bytes > mergeable.MaxFrame/2 || bytes > 16*mergeable.MaxFrame {
				return
			}
			quiet.Reset(quietTime)
		case <-quiet.C:
			return
		case <-full.C:
			return
		case <-ends:
			return
		}
	}
}

// bring sends frames to the next level as one frame, or as several if one would be too long,
// and answers their senders. window has the merged results, or nil if they must be merged
// again.
func (g *Merger) bring(ctx context.Context, b *batch, items []*item, window *mergeable.Window) {
	for len(items) > 0 {
		data, err := b.frame(g.Name, items, window)
		if err == nil && len(data) > mergeable.MaxFrame && len(items) > 1 {
			half := len(items) / 2
			g.bring(ctx, b, items[:half], nil)
			items, window = items[half:], nil
			continue
		}
		if err != nil || len(data) > mergeable.MaxFrame {
			for _, it := range items {
				g.settle(it, FrameAnswer{Busy: true})
			}
			return
		}
		t, ok := g.ask(ctx, &b.route, data)
		if !ok {
			for _, it := range items {
				if t.Busy {
					g.settle(it, t)
				} else {
					g.forget(it)
				}
			}
			return
		}
		items, window = g.settled(items, t), nil
	}
}

// settled passes the answer t of the next level on to the senders of frames. It returns the
// frames that must be sent again in a new frame: none if all were counted.
func (g *Merger) settled(items []*item, t FrameAnswer) (left []*item) {
	without := map[FrameID]bool{}
	for _, id := range t.Without {
		without[id] = true
	}
	for _, it := range items {
		own := FrameAnswer{}
		for i := range it.shares {
			if id := (FrameID{it.shares[i].Host, it.shares[i].Seq}); without[id] {
				own.Without = append(own.Without, id)
			}
		}
		if len(without) > 0 && len(own.Without) == 0 {
			left = append(left, it)
			continue
		}
		g.settle(it, own)
	}
	if len(left) == len(items) {
		for _, it := range left { // the answer named frames that are not in the batch
			g.settle(it, FrameAnswer{Busy: true})
		}
		return nil
	}
	return left
}

// frame encodes items as one frame of several hosts.
func (b *batch) frame(name string, items []*item, window *mergeable.Window) ([]byte, error) {
	first := &items[0].shares[0]
	f := &mergeable.Frame{Host: name, Script: b.key.script, Begin: first.Begin, End: first.End}
	again := window == nil && !b.route.apart
	if again {
		window = mergeable.NewMerger(nil).NewWindow()
	}
	for _, it := range items {
		if again {
			own, err := it.decode(false, it.shares[0].Dropped)
			if err == nil {
				err = window.Add(own)
			}
			if err != nil {
				return nil, err
			}
		}
		for i := range it.shares {
			f.Begin, f.End = min(f.Begin, it.shares[i].Begin), max(f.End, it.shares[i].End)
		}
		f.Shares = append(f.Shares, it.shares...)
	}
	sortShares(f.Shares)
	if window != nil {
		f.Results = window.Results()
	}
	return f.Append(nil), nil
}
