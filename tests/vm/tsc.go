package vm

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"sync"

	"ppscript/runtime/source/perf"
)

// This file passes the rate of the time stamp counter to guests. An emulated CPU has this
// machine's counter. A kernel measures its rate with a slow timer when it boots. If the
// emulator loses its CPU during this measurement, the guest's clock runs several times too
// fast from then on, and each of its time-outs ends too early.

// hostTSC is the rate of this machine's counter in kHz, 0 if it is unknown.
var hostTSC = sync.OnceValue(func() int {
	if khz := tscOfPerf(); khz > 0 {
		return khz
	}
	return tscOfCPUs()
})

// tscOfPerf reads the rate from the first page of a perf ring; virtual machines do not have
// it there.
func tscOfPerf() int {
	c, err := perf.OwnTSC()
	if err != nil {
		return 0
	}
	return int((1_000_000<<c.Shift + uint64(c.Mult)/2) / uint64(c.Mult))
}

// tscOfCPUs returns the CPU frequency in a virtual machine that cannot see the real one:
// then this is the rate of the counters.
func tscOfCPUs() int {
	text, err := os.ReadFile("/proc/cpuinfo")
	m := cpuMHz.FindSubmatch(text)
	if err != nil || m == nil || !bytes.Contains(text, []byte(" hypervisor ")) ||
		!bytes.Contains(text, []byte(" constant_tsc ")) || bytes.Contains(text, []byte(" aperfmperf ")) {
		return 0
	}
	mhz, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		return 0
	}
	return int(math.Round(mhz * 1000))
}

var cpuMHz = regexp.MustCompile(`\ncpu MHz\s*: ([0-9.]+)\n`)

// clockWords returns words for the kernel's command line with the rate of the
// counter.
func (g Guest) clockWords() string {
	if g.machine().arch != "amd64" || runtime.GOARCH != "amd64" || g.CountInsns || hostTSC() == 0 {
		return ""
	}
	return fmt.Sprintf("tsc_early_khz=%d ", hostTSC())
}
