package probe

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/workload"
	"ppscript/tests/testkit"

	"golang.org/x/sys/unix"
)

// resolver is one that is closed at the end of the test.
func resolver(t testing.TB) *Resolver {
	t.Helper()
	r := &Resolver{}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// targetEnv names testdata/target.c as a static program, for machines without
// a compiler: the guests of tests/vm.
const targetEnv = "PPSCRIPT_PROBE_TARGET"

// buildTarget compiles testdata/target.c.
func buildTarget(t testing.TB, flags ...string) string {
	t.Helper()
	if built := os.Getenv(targetEnv); built != "" {
		return built
	}
	testkit.Requires(t, testkit.GCC)
	bin := filepath.Join(t.TempDir(), "target")
	args := append([]string{"-O2", "-o", bin, "testdata/target.c"}, flags...)
	if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, text)
	}
	return bin
}

// A target is a process that waits to do its work.
type target struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	addr string // of the variable total
}

func start(t testing.TB, cmd *exec.Cmd) *target {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &target{cmd: cmd, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the observed program: %v", err)
		}
	})
	if line := p.line(t); strings.HasPrefix(line, "ready ") {
		p.addr = strings.TrimPrefix(line, "ready ")
	} else {
		t.Fatalf("got %q, want ready", line)
	}
	return p
}

func (p *target) line(t testing.TB) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the observed program: %v", err)
	}
	return strings.TrimSpace(line)
}

// work lets the process do its work and waits until it has.
func (p *target) work(t testing.TB) {
	t.Helper()
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		t.Fatal(err)
	}
	if line := p.line(t); line != "done" {
		t.Fatalf("got %q, want done", line)
	}
}

// sampleMembers lists the sample members of all fields.
func sampleMembers(s *event.Schema) []event.Member {
	members := []event.Member{event.MemberTime, event.MemberTID}
	for i := range s.Fields {
		if s.Fields[i].Place == event.InMember {
			members = append(members, s.Fields[i].Member)
			members = append(members, s.Fields[i].Uses()...)
		}
	}
	return members
}

// record opens probes on a target, runs do and returns how often each probe
// was hit; see sees every event while it lives.
func record(t testing.TB, probes []*Probe, tg perf.Target, do func(), see func(i int, e *event.Event)) []int {
	t.Helper()
	var members []event.Member
	cfg := perf.Config{Target: tg, Prompt: true}
	for _, p := range probes {
		members = append(members, sampleMembers(p.Schema)...)
	}
	cfg.Members = members
	for _, p := range probes {
		cfg.Events = append(cfg.Events,
			perf.EventConfig{Schema: p.Schema, EventAttr: attrOf(p), Payload: perf.Payload{
				RegsIntr: RegsIntr(p.Schema, members), StackUser: StackUser(p.Schema, members),
			}})
	}
	ctx := context.Background()
	src, err := perf.Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}()
	do()
	if err := src.Stop(); err != nil {
		t.Fatal(err)
	}
	hits := make([]int, len(probes))
	var evs [64]event.Event
	for ended := false; !ended; {
		err := src.Poll(ctx, time.Second)
		ended = errors.Is(err, io.EOF)
		if err != nil && !ended {
			t.Fatal(err)
		}
		for _, ring := range src.Rings() {
			_, until := ring.Bounds()
			for ring.Pos() < until {
				n := ring.Read(evs[:], until)
				for i := range evs[:n] {
					if e := &evs[i]; e.Kind == event.Sample {
						hits[e.Stream.Index]++
						if see != nil {
							see(e.Stream.Index, e)
						}
					} else if e.Kind == event.Lost {
						t.Errorf("lost %d events", e.Count)
					}
				}
				ring.Release()
			}
		}
	}
	return hits
}

// num reads a field that must be there.
func num(t testing.TB, e *event.Event, name string) int64 {
	t.Helper()
	f, ok := e.Stream.Schema.Field(name)
	if !ok {
		t.Fatalf("field %s: not in %v", name, e.Stream.Schema.Names())
	}
	v, ok := f.Int(e)
	if !ok {
		t.Fatalf("field %s: the sample does not tell it", name)
	}
	return v
}

func text(t testing.TB, e *event.Event, name string) string {
	t.Helper()
	f, ok := e.Stream.Schema.Field(name)
	if !ok {
		t.Fatalf("field %s: not in %v", name, e.Stream.Schema.Names())
	}
	return string(f.Text(e))
}

func resolve(t testing.TB, s Spec) []*Probe {
	t.Helper()
	ps, err := resolver(t).Resolve(s)
	if err != nil {
		t.Fatal(err)
	}
	return ps
}

// attrOf is how a probe is opened.
func attrOf(p *Probe) perf.EventAttr {
	return perf.EventAttr{
		Config1: p.Config1, Config2: p.Config2, Config1Text: p.Config1Text, BPType: p.BPType,
	}
}

// count runs a workload to its end and counts the hits of all probes.
func count(t testing.TB, probes []*Probe, tg perf.Target) int {
	t.Helper()
	cfg := perf.Config{Target: tg}
	for _, p := range probes {
		cfg.Events = append(cfg.Events, perf.EventConfig{Schema: p.Schema, EventAttr: attrOf(p)})
	}
	src, err := perf.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	hits := 0
	var evs [64]event.Event
	for {
		err := src.Poll(context.Background(), time.Second)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		for _, ring := range src.Rings() {
			_, until := ring.Bounds()
			for ring.Pos() < until {
				for _, e := range evs[:ring.Read(evs[:], until)] {
					if e.Kind == event.Sample {
						hits++
					}
				}
				ring.Release()
			}
		}
		if err != nil {
			break
		}
	}
	if status, over := src.WorkloadStatus(); !over || !status.Success() {
		t.Errorf("the observed program: got %v, want success", status)
	}
	return hits
}

func hex(v uint64) string { return strconv.FormatUint(v, 16) }

// TestMain becomes the workload of a test where it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv(elsewhereEnv) != "" {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // the main thread is kept: another one executes the command
			over := make(chan bool)
			go func() { workload.MaybeExecChild(); close(over) }()
			<-over
		}
		runtime.UnlockOSThread()
	}
	workload.MaybeExecChild()
	os.Exit(m.Run())
}
