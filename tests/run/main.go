// The command run runs this module's tests. `make test` runs the tests of properties that hold on
// any machine, in minutes. With -all it runs the tests that take longer or need other programs:
// guests, oracles, browsers, packages.
//
// A test is left to -all by testkit.Requires(t, testkit.Long), a whole package by its line in
// plan.go. Both runs print a line for each package and the whole output of a test that fails. The
// last lines say how many tests passed, which missing needs left tests out, with the command that
// installs each, and which measurements were repeated.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	var o options
	flag.BoolVar(&o.all, "all", false, "run the long tests instead of the short ones")
	flag.BoolVar(&o.anyway, "anyway", false, "with -all: run what this machine can")
	flag.BoolVar(&o.race, "race", false, "run the short tests with the race detector")
	flag.IntVar(&o.slowest, "slowest", 0, "name so many of the slowest tests and packages")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

type options struct {
	all, anyway, race bool
	slowest           int
	compiler          bool // a C compiler exists, which the race detector needs
}

func run(ctx context.Context, o options) error {
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		return errors.New("tests need /proc\nhint: mount it: mount -t proc proc /proc")
	}
	if o.all && !o.anyway {
		if err := installed(ctx); err != nil {
			return err
		}
	}
	_, err := exec.LookPath("gcc")
	if o.compiler = err == nil; o.all && !o.compiler {
		fmt.Println("the race detector is left out: it needs gcc")
	}
	// Programs are static, like the ones that users install. goTest allows C only for the
	// race detector.
	if err := os.Setenv("CGO_ENABLED", "0"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ppscript-tests")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := build(ctx, dir, o); err != nil {
		return err
	}
	packages, err := testPackages(ctx)
	if err != nil {
		return err
	}
	r := newReport(os.Stdout)
	for _, phase := range phases(packages, o) {
		phase.run(ctx, r)
	}
	return r.close(o)
}

// phases returns the calls of the go command, in their order.
func phases(packages []testPackage, o options) []phase {
	var apart, alone, guests, raced, racedAlone []string
	for _, p := range packages {
		switch {
		case !o.all || !o.compiler || !p.raced():
		case slices.Contains(alonePackages, p.path):
			racedAlone = append(racedAlone, p.path)
		default:
			raced = append(raced, p.path)
		}
		switch {
		case o.all && !p.long && !p.hasLong, !o.all && p.long:
		case slices.Contains(guestPackages, p.path):
			guests = append(guests, p.path)
		case slices.Contains(alonePackages, p.path):
			alone = append(alone, p.path)
		default:
			apart = append(apart, p.path)
		}
	}
	// `make check` vets, for both architectures. With -trimpath, what `make build` compiled is not compiled
	// again.
	always := []string{"-vet=off", "-trimpath"}
	// SQLite's Go code computes pointers in ways that checkptr refuses; -race enables checkptr.
	detector := []string{"-race", "-gcflags=all=-d=checkptr=0", "-short", "-timeout=20m"}
	flags := []string{"-short", "-timeout=10m"}
	switch {
	case o.race:
		flags = detector
	case o.all:
		flags = []string{"-timeout=40m"}
	}
	var list []phase
	add := func(p phase, flags []string) {
		if len(p.packages) > 0 {
			p.flags = slices.Concat(p.flags, always, flags)
			list = append(list, p)
		}
	}
	add(phase{packages: apart, flags: []string{"-p=2"}, race: o.race}, flags)
	add(phase{packages: alone, flags: []string{"-p=1"}, beside: guests, race: o.race}, flags)
	add(phase{packages: raced, flags: []string{"-p=2"}, race: true}, detector)
	add(phase{packages: racedAlone, flags: []string{"-p=1"}, race: true}, detector)
	return list
}
