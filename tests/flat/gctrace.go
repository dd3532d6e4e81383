package main

import (
	"bytes"
	"strconv"
	"sync"
)

// gctrace receives a run's messages. It parses the lines that Go's collector
// writes with GODEBUG=gctrace=1, and keeps the others:
//
//	gc 7 @2.104s 1%: ... ms cpu, 10->11->6 MB, 12 MB goal, ...
//
// The third size is the live heap.
type gctrace struct {
	mu     sync.Mutex
	line   []byte // an incomplete line
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

// now is the live heap at the last collection, in bytes.
func (g *gctrace) now() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.live
}

// liveOf returns the live heap from a line of the collector.
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
