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

// This file completes stacks whose user part the kernel recorded later, when the thread returned
// to user code (perf record --call-graph fp,defer; Linux 6.19). The sample has a number, the
// cookie, in place of the user part. A later record has the same cookie and the user part: struct
// perf_callchain_deferred_event in kernel/events/core.c. One such record may belong to several
// samples of a system call.
//
// It may come long after the sample, if the thread slept. For a file whose events may have such
// records, the whole file is searched for them first. For a pipe they are read as they arrive.
// That is early enough if the sample still waits to be sorted, and the thread has not slept.

const (
	recCallchainDeferred = 22      // PERF_RECORD_CALLCHAIN_DEFERRED
	bitDeferCallchain    = 1 << 38 // of perf_event_attr: defer_callchain

	contextUser         = ^uint64(512 - 1) // PERF_CONTEXT_USER
	contextUserDeferred = ^uint64(640 - 1) // PERF_CONTEXT_USER_DEFERRED
)

// mostDeferred bounds the user parts that are kept for a pipe, in each of two generations.
const mostDeferred = 1 << 18

// A deferral identifies a user part. The cookie alone is not enough, since each CPU counts
// its own, and they may start again.
type deferral struct {
	cookie uint64
	tid    int32
}

// userParts are the deferred user parts of the stacks of a recording.
type userParts struct {
	common    *perf.Layout
	now, past generation
	scanned   bool // the whole recording was searched
	bounded   bool
	buf       []uint64
	missing   atomic.Bool
}

// A generation is a set of user parts. Equal chains are stored once.
type generation struct {
	parts  map[deferral][]uint64
	chains map[string][]uint64
}

func newGeneration() generation {
	return generation{map[deferral][]uint64{}, map[string][]uint64{}}
}

// deferStacks prepares for deferred user parts if the events of the recording
// may have them.
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

// scanDeferred searches a file for deferred user parts, once. A damaged file is searched up to the
// damage, like the later reading of its events.
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

// take stores the user parts in a run.
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

// complete replaces the cookie at the end of a chain by the user part. If that is missing, the
// chain has only the kernel's part. The result is valid until the next call.
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

// lacks returns the warning about missing user parts; "" if none are missing.
func (d *userParts) lacks() string {
	switch {
	case d == nil || !d.missing.Load():
		return ""
	case d.scanned:
		return "some stacks have no user part: their threads did not go back to user code before the recording ended"
	}
	return "some stacks have no user part: it came after the sample was shown; record to a file to have all"
}
