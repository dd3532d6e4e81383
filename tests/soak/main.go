// Soak runs profilers for hours on a machine under stress, and checks that nothing grows
// and nothing is left:
//
//	make soak                       # as root: two hours
//	make soak SOAK=10m
//	go run ./tests/soak -length 1m -kills 20 -stress=false
//
// Four profilers run from the beginning to the end, one of them in a cgroup of 100 MB, in
// which another program uses memory too. At the same time stress-ng works on all CPUs, 500
// processes start each second, and further runs of ppscript, and the processes that they
// observe, are killed with SIGKILL at bad moments. A program makes a known number of calls
// all the time.
//
// At the end nothing of the four has grown: memory, files, threads. Their counts are the
// known number, minus the losses that they report. Nothing of any run is left: programs,
// maps and links of the kernel that no process holds, dynamic probes, instances of tracefs,
// pinned objects, temporary files, processes. The exit status is 1 otherwise.
//
// The test of tests/vm takes CPUs offline meanwhile.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	var o options
	flag.DurationVar(&o.length, "length", 2*time.Hour, "how long")
	flag.IntVar(&o.kills, "kills", 200, "how many processes are killed")
	flag.IntVar(&o.forks, "forks", 500, "processes that start each second")
	flag.BoolVar(&o.stress, "stress", true, "have stress-ng work on all CPUs")
	flag.StringVar(&o.ppscript, "ppscript", "./ppscript", "our `binary`")
	flag.StringVar(&o.load, "load", "", "the `program` of tests/testkit/load; built if empty")
	flag.Parse()
	if o.length < 4*time.Second || o.kills < 1 || o.forks < 1 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "soak: want at least 4 seconds, a kill, a fork, and no arguments")
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	wrong, err := soak(ctx, o)
	for _, w := range wrong {
		fmt.Println("WRONG:", w)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	if err != nil || len(wrong) > 0 {
		os.Exit(1)
	}
}

// options are the options of the command line.
type options struct {
	length   time.Duration
	kills    int
	forks    int // each second
	stress   bool
	ppscript string
	load     string
}

// attached is printed when the profilers that run all the time have begun.
const attached = "all are attached"

// A scene has the directories for the files of all runs.
type scene struct {
	options
	out string // directory of output files
	tmp string // TMPDIR of all runs, empty at the end
}

// soak runs everything and returns the faults at the end.
func soak(ctx context.Context, o options) (wrong []string, err error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("needs root to trace")
	}
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s := &scene{o, filepath.Join(dir, "out"), filepath.Join(dir, "tmp")}
	for _, d := range []string{s.out, s.tmp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	if s.load == "" {
		s.load = filepath.Join(dir, "load")
		build := exec.CommandContext(ctx, "go", "build", "-o", s.load, "ppscript/tests/testkit/load")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the load: %w\n%s", err, out)
		}
	}
	room, err := newRoom()
	if err != nil {
		fmt.Println("no memory pressure:", err)
	}
	defer room.remove()

	before, err := look(s.tmp)
	if err != nil {
		return nil, err
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	steady, err := s.startSteady(ctx, room)
	if err != nil {
		return nil, err
	}
	fmt.Println(attached)
	l, err := s.startLoad(work, room)
	if err != nil {
		stopAll(steady)
		return nil, err
	}
	k := s.killAtRandom(work)
	watch(work, steady, o.length)
	stop()
	k.wait()
	l.wait()
	wrong = append(wrong, k.wrong...)
	fmt.Printf("%d processes killed, %d of them ours; %.0f started each second\n", k.killed, k.ours,
		float64(l.started.Load())/o.length.Seconds())
	wrong = append(wrong, stopAll(steady)...)
	for _, p := range steady {
		wrong = append(wrong, p.judge(l.known.Load(), o.length >= warm)...)
	}
	wrong = append(wrong, room.oomReport()...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	left, err := before.leftovers(s.tmp)
	if err != nil {
		return wrong, err
	}
	for _, x := range left {
		wrong = append(wrong, "left behind: "+x)
	}
	if len(wrong) == 0 {
		fmt.Println("as it should be; nothing is left: " + strings.Join(kinds, ", "))
	}
	return wrong, nil
}
