// Minikvm is the smallest virtual machine monitor that produces KVM exits in
// known numbers, for tests of KVM's tracepoints:
//
//	minikvm [-vcpus 1] [-mix] [-slow 0] [-clock] [-spin 0] [-mark 0] COUNT
//
// Each vCPU is a thread named "vcpu N" that runs 16-bit code with COUNT writes
// to an I/O port, and a CPUID instruction between every two of them: COUNT
// exits for I/O and COUNT-1 for CPUID. With -mix the loop also has a HLT and a
// write to memory that does not exist. With -slow N every Nth port write is
// answered half a millisecond later, which shows as a few long exits.
//
// With -clock the guest sets up its kvmclock again before each port write, and
// the monitor then calls getppid with the time of that clock, in ns, as the first
// argument, which the kernel ignores.
//
// With -spin N the guest also counts down from N in each round. With -mark TIME each vCPU's
// thread marks a span of about that length as the programs of tests/why do, ends after it, and
// prints how long it had a CPU and waited for one, by the kernel's account.
//
// It prints the exits that it saw for each vCPU: "vcpu 0: io=200". The kernel
// answers CPUID, so the monitor does not see it.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

func main() {
	vcpus := flag.Int("vcpus", 1, "number of vCPUs, each with a thread of its own")
	mix := flag.Bool("mix", false, "also HLT and write to missing memory in each round")
	slow := flag.Int("slow", 0, "answer every `N`th port write half a millisecond late; 0 is never")
	clock := flag.Bool("clock", false, "set the guest's clock, and tell its time by getppid")
	spin := flag.Uint("spin", 0, "count down from `N` in each round")
	mark := flag.Duration("mark", 0, "mark a span of that `time`, end with it, and tell its truth")
	flag.Parse()
	count, err := strconv.Atoi(flag.Arg(0))
	if flag.NArg() != 1 || err != nil || count < 1 || *vcpus < 1 || *slow < 0 {
		fmt.Fprintln(os.Stderr, "usage: minikvm [-vcpus N] [-mix] [-slow N] [-clock] COUNT")
		os.Exit(2)
	}
	if err := run(*vcpus, job{count, *mix, *slow, *clock, *spin, *mark}); err != nil {
		fmt.Fprintln(os.Stderr, "minikvm:", err)
		os.Exit(1)
	}
}

// A job is the work of each vCPU.
type job struct {
	ports int // number of port writes after which it stops
	mix   bool
	slow  int
	clock bool
	spin  uint
	mark  time.Duration // length of the marked span, 0 for none
}

func run(vcpus int, j job) error {
	vm, err := newVM(guestCode(j))
	if err != nil {
		return err
	}
	defer vm.close()
	var wg sync.WaitGroup
	exits, errs := make([]counts, vcpus), make([]error, vcpus)
	for i := range vcpus {
		wg.Go(func() { exits[i], errs[i] = vm.runVCPU(i, j) })
	}
	wg.Wait()
	for i := range vcpus {
		if errs[i] != nil {
			return fmt.Errorf("vcpu %d: %w", i, errs[i])
		}
		fmt.Printf("vcpu %d: %v\n", i, exits[i])
	}
	return nil
}
