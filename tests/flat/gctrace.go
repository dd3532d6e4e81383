package main

import (
	"bytes"
	"strconv"
	"sync"
)

// gctrace takes a run's messages. The lines that Go's collector writes with
// GODEBUG=gctrace=1 it reads, the others it keeps:
//
//	gc 7 @2.104s 1%: ... ms cpu, 10->11->6 MB, 12 MB goal, ...
//
// The third size is what was live.
type gctrace struct {
	mu     sync.Mutex
	line   []byte // not whole yet
	live   int64
	output []byte
}

func (g *gctrace) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.line = append(g.line, p...)
	for {
		line, rest, whole := bytes.Cut(g.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if live, ok := liveOf(line); ok {
			g.live = live
		} else if len(g.output) < 1<<16 {
			g.output = append(append(g.output, line...), '\n')
		}
		g.line = append(g.line[:0], rest...)
	}
}

// now is what was live at the last collection, in bytes.
func (g *gctrace) now() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.live
}

// liveOf reads a line of the collector.
func liveOf(line []byte) (int64, bool) {
	if !bytes.HasPrefix(line, []byte("gc ")) {
		return 0, false
	}
	sizes, _, ok := bytes.Cut(line, []byte(" MB, "))
	if !ok {
		return 0, false
	}
	at := bytes.LastIndex(sizes, []byte("->"))
	if at < 0 {
		return 0, false
	}
	mb, err := strconv.ParseInt(string(sizes[at+2:]), 10, 64)
	return mb << 20, err == nil
}
