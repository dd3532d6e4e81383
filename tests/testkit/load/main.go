// Load is a program whose events are known by number, to be traced by tests:
//
//	load [-cpu N] [-cpus N] [-wait] [-getppid N] [-fail N [-name FILE]] [-sleep N] [-switch N] [-fault N] [-paths BITS] [-spin MS]
//
// Go's runtime makes system calls, page faults and switches of its own; counts
// are exact for what it never does:
//
//   - getppid: N calls; the first argument, which the kernel ignores, is 0 to N-1
//   - fail: N openat of a file that is not there, /no/such/file or FILE, which fail with ENOENT
//   - sleep: N clock_nanosleep of 200 us (the runtime uses nanosleep)
//   - switch: N bytes there and N back between two threads on one CPU, which
//     switches at least N times
//   - fault: N pages touched for the first time
//   - paths: one getppid along each of 2^BITS chains of functions
//   - spin: milliseconds of work without system calls
//
// Each is done by the thread "load-N", one for each of -cpus CPUs, pinned to
// CPU -cpu and those after it. With -wait, the program prints "ready", does
// its work whenever it reads a line, prints "done N", and ends with its input.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
)

func main() {
	var j job
	flag.IntVar(&j.getppid, "getppid", 0, "calls of getppid")
	flag.IntVar(&j.fail, "fail", 0, "openat calls that fail")
	flag.StringVar(&j.name, "name", "/no/such/file", "the `file` that is not there")
	flag.IntVar(&j.sleep, "sleep", 0, "sleeps of 200 us")
	flag.IntVar(&j.turns, "switch", 0, "round trips between two threads")
	flag.IntVar(&j.fault, "fault", 0, "pages to touch")
	flag.IntVar(&j.paths, "paths", 0, "`bits` of the numbers of chains of functions")
	flag.IntVar(&j.spinMS, "spin", 0, "milliseconds of computing")
	first := flag.Int("cpu", 0, "the first `CPU` to run on")
	cpus := flag.Int("cpus", 1, "CPUs to work on, each with a thread")
	wait := flag.Bool("wait", false, "work when told to")
	flag.Parse()
	if flag.NArg() > 0 || *cpus < 1 {
		fmt.Fprintln(os.Stderr, "usage: load [options]; see load -help")
		os.Exit(2)
	}
	if err := run(j, *first, *cpus, *wait); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(j job, first, cpus int, wait bool) error {
	var workers []*worker
	for i := range cpus {
		w, err := newWorker(j, first+i, i)
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	do := func() error {
		for _, w := range workers {
			w.begin <- struct{}{}
		}
		for _, w := range workers {
			if err := <-w.done; err != nil {
				return err
			}
		}
		return nil
	}
	if !wait {
		return do()
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for n := 1; in.Scan(); n++ {
		if err := do(); err != nil {
			return err
		}
		fmt.Println("done", n)
	}
	return in.Err()
}
