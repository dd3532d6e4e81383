package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/session"
)

// This file measures one hub and one asker, in one process, with many agents in another: these replay
// frames of so many rows each second over connections of their own. Mergers are in the hub, or each in a
// process of its own.

// replayRows is the number of rows that each agent sends each second.
const replayRows = 200

// replay is the process of the agents.
func replay(url string, agents int) {
	var all sync.WaitGroup
	stop := make(chan struct{})
	slots := make(chan struct{}, 16) // so many connect at a time
	for i := range agents {
		all.Go(func() {
			slots <- struct{}{}
			name := fmt.Sprintf("host%05d", i)
			nc, err := nats.Connect(url, nats.Timeout(20*time.Second), nats.UserInfo(name, ""))
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			defer nc.Close()
			_, err = nc.Subscribe(jobSubject, func(m *nats.Msg) {
				var j Job
				if json.Unmarshal(m.Data, &j) == nil {
					_ = nc.Publish(answerSubject+j.ID+"."+name, must(Answer{Host: name, Now: time.Now()}))
					go replayJob(nc, &j, name, i)
				}
			})
			if err == nil {
				err = nc.Publish(beatSubject+name, must(Host{Name: name}))
			}
			if err == nil {
				err = nc.Flush()
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			<-slots
			<-stop
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until who started it is done
	close(stop)
	all.Wait()
}

func replayJob(nc *nats.Conn, j *Job, name string, of int) {
	windows, _ := strconv.Atoi(j.Name)
	to := &sender{nc: nc, host: name, job: j.ID}
	to.route, to.tree = j.route(name)
	if sub, err := nc.Subscribe(againSubject+j.ID, to.lacking); err == nil {
		defer sub.Unsubscribe()
	}
	result := replayed(of)
	next := time.Now().Truncate(j.Interval).Add(j.Interval)
	for i := range windows {
		time.Sleep(time.Until(next))
		f := &mergeable.Frame{Host: name, Seq: uint64(i + 1), Begin: next.Add(-j.Interval).UnixNano(),
			End: next.UnixNano(), Final: i == windows-1, Results: []mergeable.Result{result}}
		m := nats.NewMsg("")
		m.Data = f.Append(nil)
		m.Header.Set(droppedHeader, "0")
		for tries := 0; to.send(context.Background(), m) != nil; tries++ {
			if tries > 10 {
				return
			}
			time.Sleep(300 * time.Millisecond)
		}
		next = next.Add(j.Interval)
	}
	ended := must(JobEnd{Host: name, Frames: uint64(windows)})
	_, _ = nc.Request(endSubject+j.ID+"."+name, ended, 30*time.Second)
}

// replayed is the result that an agent sends each second.
func replayed(of int) mergeable.Result {
	r := calls(1)
	r.Rows = nil
	for k := range replayRows {
		row := mergeable.Row{Row: agg.Row{Key: []event.Value{event.StrOf(fmt.Sprint("program",
			(of+k)%1000))},
			Measures: []agg.Measure{agg.NewMeasure(10, agg.TotalOf(event.IntNumber(1000)), event.IntNumber(1),
				event.IntNumber(500))}}}
		r.Rows = append(r.Rows, row)
	}
	return r
}

// lagging notes how long after its end each window is shown.
type lagging struct {
	mu   sync.Mutex
	text strings.Builder
	end  string // of the window
	lags []time.Duration
}

// Write implements io.Writer.
func (l *lagging) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		if _, rest, ok := strings.Cut(line, `"end":`); ok {
			l.end, _, _ = strings.Cut(rest, ",")
		}
		if strings.Contains(line, `"type":"hosts"`) {
			end, _ := strconv.ParseInt(l.end, 10, 64)
			l.lags = append(l.lags, time.Since(time.Unix(0, end)))
		}
	}
	return l.text.Write(b)
}

// $FLEET_AGENTS is another number of agents; those of every run of the tests are few. $FLEET_MERGERS are
// processes of mergers, in place of that of the hub. $FLEET_WINDOWS are how many each agent tells, and
// $FLEET_INTERVAL how long each is.
func BenchmarkFleet(b *testing.B) {
	agents := 50
	windows := 2
	if n, err := strconv.Atoi(os.Getenv("FLEET_AGENTS")); err == nil {
		agents, windows = n, 10
	}
	if n, err := strconv.Atoi(os.Getenv("FLEET_WINDOWS")); err == nil {
		windows = n
	}
	mergers, _ := strconv.Atoi(os.Getenv("FLEET_MERGERS"))
	for _, x := range []struct {
		name  string
		parts []int
	}{{"direct", []int{0}}, {"mergers", nil}} {
		b.Run(fmt.Sprintf("%s/agents/%d", x.name, agents), func(b *testing.B) {
			for b.Loop() {
				fleetOf(b, agents, windows, mergers, x.parts)
			}
		})
	}
}

// self starts this test as another process, which ends when its input does.
func self(b *testing.B, args ...string) (cmd *exec.Cmd, end func()) {
	b.Helper()
	cmd = exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "FLEET_CHILD=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	return cmd, sync.OnceFunc(func() { _ = stdin.Close(); _ = cmd.Wait() })
}

// merge is the process of a merger.
func merge(url string) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	g := &Merger{Server: Server{URL: url}, Say: func(string) {}}
	if err := g.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func fleetOf(b *testing.B, agents, windows, mergers int, parts []int) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ready := make(chan string, 1)
	h := &Hub{Listen: "127.0.0.1:0", Say: func(string) {}, Ready: func(url string) { ready <- url },
		NoMerger: mergers > 0}
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { _ = h.Run(ctx) })
	url := <-ready
	_, end := self(b, "replay", url, strconv.Itoa(agents))
	defer end()
	var merging []*exec.Cmd
	var ends []func()
	for range mergers {
		cmd, end := self(b, "merge", url)
		defer end()
		merging, ends = append(merging, cmd), append(ends, end)
	}
	s := Server{URL: url}
	nc, err := s.connect("test", "", false)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if list, _, err := hosts(ctx, nc, nil); err == nil && len(list) == agents {
			break
		} else if time.Now().After(end) {
			b.Fatalf("%d of %d agents are there", len(list), agents)
		}
	}
	out := &lagging{}
	said := func(line string) {
		if os.Getenv("FLEET_SAY") != "" {
			fmt.Fprintln(os.Stderr, line)
		}
	}
	cfg := &session.Config{Messages: said,
		Output: func(func(event.Time) time.Time) (render.Renderer,
			error) {
			return render.New(out, render.Options{Format: "json", Clock: wall})
		}}
	cfg.Options.Interval = time.Second
	if d, err := time.ParseDuration(os.Getenv("FLEET_INTERVAL")); err == nil {
		cfg.Options.Interval = d
	}
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	began := time.Now()
	asker := &Asker{Server: Server{URL: url}, Late: 20 * time.Second, Parts: parts}
	_, err = asker.Run(ctx, &Question{Request: Request{Name: strconv.Itoa(windows)}, Config: cfg,
		JSON: true})
	took := time.Since(began)
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	if err != nil {
		b.Fatal(err)
	}
	a := &answers{}
	a.text.WriteString(out.text.String())
	var n, told int64
	for _, r := range a.records(b) {
		for _, row := range r.Data.Rows {
			n += row.Calls
		}
		told += int64(r.Data.Told)
	}
	if want := int64(agents * windows * replayRows * 10); n != want {
		b.Fatalf("got %d calls of %d agents, want %d", n, told, want)
	}
	cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	slices.Sort(out.lags)
	b.ReportMetric(float64(out.lags[len(out.lags)-1].Milliseconds()), "ms-behind-at-worst")
	b.ReportMetric(float64(out.lags[len(out.lags)/2].Milliseconds()), "ms-behind")
	b.ReportMetric(cpu.Seconds()/took.Seconds(), "cores")
	b.ReportMetric(float64(after.Maxrss)/1024, "MB")
	var merged time.Duration
	for i, cmd := range merging {
		b.ReportMetric(peakMiB(b, cmd.Process.Pid), "MB-of-a-merger")
		ends[i]()
		merged += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(merged.Seconds()/took.Seconds(), "cores-of-mergers")
	f := &mergeable.Frame{Host: "host00000", Results: []mergeable.Result{replayed(0)}}
	b.ReportMetric(float64(len(f.Append(nil))), "B/frame")
}

// peakMiB is the most memory that a process had. Its rusage would have that of the process which started
// it, too.
func peakMiB(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		b.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(line, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}
