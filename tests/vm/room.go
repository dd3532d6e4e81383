package vm

import (
	"bytes"
	"fmt"
	"os"
	"sync"
)

// This file bounds the memory of guests that run at the same time. As many tests
// run at the same time as there are CPUs (go test -parallel): a guest keeps one
// CPU busy, however many it has itself.

// room is the memory for all guests of this process.
var room = memory{free: availableMiB}

// A memory is shared by guests, each of which waits until there is enough.
type memory struct {
	free func() int // in MiB, read when the first guest starts

	sync.Mutex
	released    sync.Cond
	bound, used int // in MiB
}

// take waits until there is memory for one more guest and returns a function
// that releases it. A single guest never waits.
func (m *memory) take(sizeMiB int) (give func()) {
	m.Lock()
	defer m.Unlock()
	if m.released.L == nil {
		m.released.L = &m.Mutex
		// The tests themselves also need some of the free memory.
		m.bound = m.free() * 3 / 4
	}
	for m.used > 0 && m.used+sizeMiB > m.bound {
		m.released.Wait()
	}
	m.used += sizeMiB
	return func() {
		m.Lock()
		defer m.Unlock()
		m.used -= sizeMiB
		m.released.Broadcast()
	}
}

// availableMiB returns the available memory of this machine; 0 if it is unknown.
func availableMiB() int {
	text, _ := os.ReadFile("/proc/meminfo")
	_, line, _ := bytes.Cut(text, []byte("\nMemAvailable:"))
	var sizeKiB int
	fmt.Sscan(string(line[:min(len(line), 40)]), &sizeKiB)
	return sizeKiB >> 10
}
