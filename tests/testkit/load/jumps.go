package main

import (
	"bufio"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// phaseKeys is the number of keys with calls in only some of the phases; they come after the keys
// with calls in all phases.
const phaseKeys = 16

// jump calls getppid with a key as the first argument, at a rate that jumps: there are phases
// without calls, with few, with many and with as many as possible. The number of calls of each key
// is written to -counts, a number on each line.
func (w *worker) jump() error {
	counts := make([]int, w.keys+phaseKeys)
	random := uint64(w.seed)*0x9e3779b97f4a7c15 + 1
	next := func() uint64 {
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		return random
	}
	for end := time.Now().Add(w.jumps); time.Now().Before(end); {
		phase := time.Now().Add(50*time.Millisecond + time.Duration(next()%500)*time.Millisecond)
		own := w.keys + int(next()%phaseKeys)
		each, rest := 0, time.Duration(0) // calls in a turn, and the pause after them
		switch next() % 4 {
		case 0:
			rest = 10 * time.Millisecond
		case 1:
			each, rest = 20, time.Millisecond
		case 2:
			each, rest = 400, time.Millisecond
		case 3:
			each = 500
		}
		for now := time.Now(); now.Before(phase) && now.Before(end); now = time.Now() {
			for i := range each {
				// The product of two random numbers gives more small keys than
				// large ones.
				r := next()
				key := int(uint64(w.keys) * (r >> 40) >> 24 * (r >> 16 & 0xffffff) >> 24)
				if i%8 == 0 {
					key = own
				}
				unix.RawSyscallNoError(unix.SYS_GETPPID, uintptr(key), 0, 0)
				counts[key]++
			}
			if rest > 0 {
				time.Sleep(rest)
			}
		}
	}
	f, err := os.Create(w.counts)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	for _, n := range counts {
		fmt.Fprintln(out, n)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Close()
}
