package perfdata

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/bytecursor"
	"ppscript/runtime/source/perf"
)

// This file puts stacks together of which the kernel took the user part later (perf record
// --call-graph fp,defer; Linux 6.19): as the thread went back to user code. A sample has a number
// in its place, a cookie, which a record of its own has too: struct perf_callchain_deferred_event
// in kernel/events/core.c. One record may be for several samples of a system call.
//
// It may come long after the sample, if the thread slept. The reader of a file looks through all
// of it for such records first, if its events say that there are any. Those of a pipe are taken
// as they come: before the sample is shown, if that waits for its order and the thread has not
// slept.

const (
	recCallchainDeferred = 22      // PERF_RECORD_CALLCHAIN_DEFERRED
	bitDeferCallchain    = 1 << 38 // of perf_event_attr: defer_callchain

	contextUser         = ^uint64(512 - 1) // PERF_CONTEXT_USER
	contextUserDeferred = ^uint64(640 - 1) // PERF_CONTEXT_USER_DEFERRED
)

// mostDeferred bounds the user parts of a pipe that are remembered, in each of two generations.
const mostDeferred = 1 << 18

// A deferral is what tells user parts apart: cookies count on each CPU, and may begin anew.
type deferral struct {
	cookie uint64
	tid    int32
}

// userParts are the deferred user parts of the stacks of a recording.
type userParts struct {
	common    *perf.Layout
	now, past generation
	scanned   bool // all of the recording was looked through
	bounded   bool
	buf       []uint64
	missing   atomic.Bool
}

// A generation are some of them. Each chain is there once.
type generation struct {
	parts  map[deferral][]uint64
	chains map[string][]uint64
}

func newGeneration() generation {
	return generation{map[deferral][]uint64{}, map[string][]uint64{}}
}

// deferStacks prepares for a recording whose events have such stacks.
func deferStacks(f *File) {
	if !slices.ContainsFunc(f.attrs, func(a attr) bool { return a.Bits&bitDeferCallchain != 0 }) {
		return
	}
	f.out.deferred = &userParts{common: f.common, now: newGeneration(), bounded: !f.opt.scan}
	for _, st := range f.streams {
		switch m := st.Members.(type) {
		case *perf.Layout:
			m.Deferred = f.out.deferred.complete
		case *perf.FixedPeriod:
			m.Deferred = f.out.deferred.complete
		}
	}
}

// scanDeferred looks through a file, once. One that is damaged is read up to there, as it is again
// by the reader of its events.
func scanDeferred(ctx context.Context, f *File) error {
	m, ok := f.in.(*mappedInput)
	if f.out.deferred == nil || f.out.deferred.scanned || f.opt.scan || !ok {
		return nil
	}
	again := *m
	again.at, again.unmap = 0, nil
	scan, err := openMapped(ctx, &again, f.name, Options{scan: true})
	for err == nil {
		if err = scan.Poll(ctx, time.Second); err == nil || errors.Is(err, io.EOF) {
			for _, r := range scan.Rings() {
				r.(*fileRing).skip()
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if scan != nil {
		scan.out.deferred.common = f.common
		f.out.deferred.now, f.out.deferred.scanned = scan.out.deferred.now, true
		_ = scan.Close()
		m.forget(0, len(m.b))
	}
	return nil
}

// take remembers the user parts of a run.
func (d *userParts) take(b []byte) {
	for len(b) >= recHeaderSize {
		size := int(le.Uint16(b[6:]))
		rec := b[:size:size]
		b = b[size:]
		if le.Uint32(rec) != recCallchainDeferred {
			continue
		}
		c := &bytecursor.Cursor{B: rec[recHeaderSize:]}
		key := deferral{cookie: c.U64()}
		n := c.U64()
		if c.Err != nil || n > uint64(len(c.B)/8) {
			continue
		}
		id, _ := d.common.SampleID(rec)
		key.tid = id.TID
		d.now.add(key, c.Take(8*n))
		if d.bounded && len(d.now.parts) >= mostDeferred {
			d.past, d.now = d.now, newGeneration()
		}
	}
}

func (g *generation) add(key deferral, addresses []byte) {
	chain, have := g.chains[string(addresses)]
	if !have {
		chain = words(addresses)
		g.chains[string(addresses)] = chain
	}
	g.parts[key] = chain
}

// complete puts the user part of a sample behind that of the kernel; without it that is all. The
// chain is valid until the next one.
func (d *userParts) complete(e *event.Event, chain []uint64) []uint64 {
	n := len(chain) - 2
	if n < 0 || chain[n] != contextUserDeferred {
		return chain
	}
	key := deferral{chain[n+1], e.TID}
	part, have := d.now.parts[key]
	if !have {
		part, have = d.past.parts[key]
	}
	if !have {
		d.missing.Store(true)
		return chain[:n]
	}
	d.buf = append(d.buf[:0], chain[:n]...)
	if len(part) > 0 && part[0] != contextUser {
		d.buf = append(d.buf, contextUser)
	}
	d.buf = append(d.buf, part...)
	return d.buf
}

// lacks is what to say of user parts that did not come.
func (d *userParts) lacks() string {
	switch {
	case d == nil || !d.missing.Load():
		return ""
	case d.scanned:
		return "some stacks have no user part: their threads did not go back to user code before the recording ended"
	}
	return "some stacks have no user part: it came after the sample was shown; record to a file to have all"
}
