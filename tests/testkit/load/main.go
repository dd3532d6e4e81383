// Load is a program that causes a known number of events, for tests to observe:
//
//	load [-cpu N] [-cpus N] [-wait] [-getppid N] [-fail N [-name FILE]] [-sleep N] [-switch N] [-fault N]
//	     [-paths BITS] [-spin MS] ...
//
// Go's runtime makes system calls, page faults and switches of its own; counts
// are exact for events that it never causes:
//
//   - getppid: N calls; the first argument, which the kernel ignores, is 0 to N-1
//   - fail: N openat of a file that is not there, /no/such/file or FILE, which fail with ENOENT
//   - sleep: N clock_nanosleep of 200 us (the runtime uses nanosleep)
//   - switch: N bytes there and N back between two threads on one CPU, which
//     switches at least N times
//   - fault: N pages touched for the first time
//   - paths: one getppid along each of 2^BITS chains of functions
//   - spin: milliseconds of work without system calls
//   - copy: N pages that the kernel touches for the first time
//   - signal: N signals that the thread sends itself and the kernel ignores
//   - exec: N children that execute true
//   - futex: N waits for a word that has changed, which do not wait
//   - contend: N calls that take the lock of a pipe, which the echo, on the CPU
//     behind the worker's, takes at the same time
//   - thread: N getppid, as -getppid, by a thread "new-CPU" that is made for them
//   - connect: N connections to a listener of the thread's own, at -port
//   - retry: a connection that nobody accepts: its first packet is sent twice
//   - move: N moves to the CPU behind the worker's, and back
//   - rare: N times setuid, setresgid, ptrace, unshare, bpf, listen and delete_module, most of which
//     fail, and bind and connect of a UDP socket
//   - write: N blocks written to -file, each with fsync, and read
//   - read: N blocks read from the disk -disk, past the page cache
//   - jumps: getppid for a time in which their rate jumps, of -keys keys, by -seed; -counts has how
//     many each key had, a number a line
//   - reclaim: N times 1 MiB of pages of -file, and -word written to -knob, which
//     has the kernel reclaim them
//
// The threads "load-N" (-comm) do this work, one for each of -cpus CPUs, pinned
// to CPU -cpu and those after it. With -wait, the program prints "ready", does
// its work whenever it reads a line, prints "done N", and ends with its input.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
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
	flag.IntVar(&j.copies, "copy", 0, "pages for the kernel to touch")
	flag.IntVar(&j.signals, "signal", 0, "ignored signals to itself")
	flag.IntVar(&j.execs, "exec", 0, "children that execute true")
	flag.IntVar(&j.futex, "futex", 0, "futex calls that do not wait")
	flag.IntVar(&j.contend, "contend", 0, "calls that take a lock of two threads")
	flag.IntVar(&j.threaded, "thread", 0, "calls of getppid by a thread that is made for them")
	flag.IntVar(&j.connect, "connect", 0, "connections to itself")
	flag.BoolVar(&j.retry, "retry", false, "a connection that nobody accepts")
	flag.IntVar(&j.port, "port", 0, "`PORT` of connections")
	flag.IntVar(&j.moves, "move", 0, "moves to another CPU")
	flag.IntVar(&j.rare, "rare", 0, "times of calls that ordinary programs do not make")
	flag.IntVar(&j.writes, "write", 0, "blocks to write and to read")
	flag.StringVar(&j.file, "file", "", "`FILE` to write to")
	flag.IntVar(&j.reads, "read", 0, "blocks to read from a disk")
	flag.StringVar(&j.disk, "disk", "", "`DISK` to read from")
	flag.IntVar(&j.reclaims, "reclaim", 0, "times to have the kernel reclaim pages")
	flag.StringVar(&j.knob, "knob", "", "`FILE` that has it do so")
	flag.StringVar(&j.word, "word", "", "`WORD` to write there")
	flag.DurationVar(&j.jumps, "jumps", 0, "`TIME` of calls whose rate jumps")
	flag.IntVar(&j.keys, "keys", 1, "keys of these")
	flag.IntVar(&j.seed, "seed", 1, "`NUMBER` that says how the rate jumps")
	flag.StringVar(&j.counts, "counts", "", "`FILE` for how many calls each key had")
	flag.StringVar(&j.comm, "comm", "load", "`NAME` of the threads")
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
	spareThreads()
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

// spareThreads makes Go's runtime create more threads than the work needs. The runtime keeps them,
// and creates no new one while tracers count: its record would be one more that a full ring loses.
func spareThreads() {
	const spare = 8
	var made, ended sync.WaitGroup
	made.Add(spare)
	for range spare {
		ended.Go(func() {
			runtime.LockOSThread() // each needs its own thread, because all wait here for the last one
			made.Done()
			made.Wait()
			runtime.UnlockOSThread()
		})
	}
	ended.Wait()
}
