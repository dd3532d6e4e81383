package sql

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"modernc.org/libc"
	lite "modernc.org/sqlite/lib"
)

// This file stops statements that do not end by themselves: a recursion without
// a last row, a join of everything with everything. SQLite calls a function
// after a number of its steps, which decides whether to go on. SQLite's own
// memory limit does not work in this build, so that the function also checks the
// growth of the process.

const (
	// stepsBetween is the number of steps of SQLite's virtual machine between
	// two calls: a few microseconds.
	stepsBetween = 500
	// checkSteps bounds the steps of a statement on empty tables: about a
	// second.
	checkSteps = 20_000_000
	// memoryGrowth bounds the memory of a query beside the rows, and answerLimit
	// its answer, in bytes.
	memoryGrowth = 2 << 30
	answerLimit  = 256 << 20
	// checkGrowth bounds the growth of memory in a check, which has empty tables.
	checkGrowth = 256 << 20
	// valueLimit bounds one text or blob.
	valueLimit = 16 << 20
	lookEvery  = 20 * time.Millisecond
)

// errEndless is the error of a statement that does not end on empty tables.
var errEndless = errors.New("does not end on empty tables: does the recursion have a last row?")

// Until makes statements end with the error that stop returns. stop is called
// often, from the goroutine that runs the statements, so that it has to be
// fast.
func (d *DB) Until(stop func() error) {
	m := memory{most: d.growth}
	if m.most == 0 {
		m.most = memoryGrowth
	}
	ask := func(*libc.TLS, uintptr) int32 {
		if d.stopped = stop(); d.stopped == nil {
			d.stopped = m.check(time.Now())
		}
		if d.stopped != nil {
			return 1
		}
		return 0
	}
	d.stopped = nil
	d.ask = &ask // in use as long as SQLite may call it
	lite.Xsqlite3_progress_handler(d.tls, d.h, stepsBetween, function(d.ask), 0)
}

// defaults are the bounds of every database.
func (d *DB) defaults() {
	lite.Xsqlite3_limit(d.tls, d.h, lite.SQLITE_LIMIT_LENGTH, valueLimit)
	d.Until(func() error { return nil })
}

// A memory checks that a statement adds at most most bytes to the memory of the process.
type memory struct {
	most   int64
	begin  int64 // memory of the process at the first check, in bytes
	looked time.Time
}

func (m *memory) check(now time.Time) error {
	if now.Sub(m.looked) < lookEvery {
		return nil
	}
	m.looked = now
	size := resident()
	if m.begin == 0 {
		m.begin = size
	}
	if size-m.begin > m.most {
		return fmt.Errorf("it takes more than %d MiB of memory", m.most>>20)
	}
	return nil
}

// resident is the memory of the process, in bytes; 0 if it cannot be read.
func resident() int64 {
	b, err := os.ReadFile("/proc/self/statm") // size resident shared ...
	if err != nil {
		return 0
	}
	f := bytes.Fields(b)
	if len(f) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(string(f[1]), 10, 64)
	return n * int64(os.Getpagesize())
}

// stepLimit returns a stop function that ends a statement after a number of
// steps.
func stepLimit(steps int) func() error {
	return func() error {
		if steps -= stepsBetween; steps < 0 {
			return errEndless
		}
		return nil
	}
}
