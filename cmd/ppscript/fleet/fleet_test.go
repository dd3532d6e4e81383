package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protowire"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/session"
	"ppscript/runtime/text/diag"
)

// TestMain is also the process that an agent starts in place of ppscript.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "replay" {
		agents, _ := strconv.Atoi(os.Args[3])
		replay(os.Args[2], agents)
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "merge" {
		merge(os.Args[2])
		return
	}
	if os.Getenv("FLEET_CHILD") != "" {
		child(os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// defaultInterval is that of the windows of jobs, where a test needs no other.
const defaultInterval = 50 * time.Millisecond

// child tells of windows, in each of which ten more calls were seen than in the one before, from 10 on. Its
// script is the number of windows; "fail" fails.
func child(args []string) {
	if args[0] == "fail" {
		fmt.Fprintln(os.Stderr, "ppscript: open tracepoint a:b: no such event")
		os.Exit(1)
	}
	windows, _ := strconv.Atoi(args[0])
	skew, _ := time.ParseDuration(os.Getenv("FLEET_SKEW"))
	interval, err := time.ParseDuration(os.Getenv("FLEET_INTERVAL"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	next := time.Now().Truncate(interval).Add(interval)
	for i := range windows {
		time.Sleep(time.Until(next))
		if i == 0 {
			fmt.Print(mergeable.Header)
		}
		end := next.Add(skew)
		f := &mergeable.Frame{Host: "child", Seq: uint64(i + 1), Begin: end.Add(-interval).UnixNano(),
			End: end.UnixNano(), Final: i == windows-1}
		f.Results = []mergeable.Result{calls(10 * (i + 1))}
		b := f.Append(nil)
		os.Stdout.Write(append(protowire.AppendVarint(nil, uint64(len(b))), b...))
		next = next.Add(interval)
	}
}

// calls is a table that counted n calls, each of which took as many ns.
func calls(n int) mergeable.Result {
	v := event.IntNumber(int64(n))
	form := &mergeable.Form{Keys: 1, Args: 1, Aggs: []agg.Agg{{Op: agg.Count}, {Op: agg.Sum}},
		Columns: []result.Column{
			{Name: "comm", Kind: result.KeyColumn}, {Name: "calls"}, {Name: "sum"}}}
	row := mergeable.Row{Row: agg.Row{Key: []event.Value{event.StrOf("db")},
		Measures: []agg.Measure{agg.NewMeasure(uint64(n), agg.TotalOf(event.IntNumber(int64(n*n))), v, v)}}}
	return mergeable.Result{Kind: mergeable.Table, Name: "table", Samples: uint64(n), Form: form,
		Rows: []mergeable.Row{row}}
}

// A place is a hub with agents.
type place struct {
	t    *testing.T
	url  string
	stop context.CancelFunc // of the hub
	all  sync.WaitGroup

	interval time.Duration // of the jobs' windows
	secret   string
}

// hub starts a hub at an address, or anywhere.
func hub(t *testing.T, listen string) *place {
	t.Helper()
	return hubOf(t, &Hub{Listen: listen})
}

func hubOf(t *testing.T, h *Hub) *place {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &place{t: t, stop: cancel, interval: defaultInterval}
	ready := make(chan string, 1)
	h.Say, h.Ready = func(string) {}, func(url string) { ready <- url }
	failed := make(chan error, 1)
	p.all.Go(func() { failed <- h.Run(ctx) })
	t.Cleanup(func() { cancel(); p.all.Wait() })
	select {
	case p.url = <-ready:
	case err := <-failed:
		t.Fatal(err)
	}
	return p
}

// program is what agents start: this test as a child, whose windows have an interval.
func program(t *testing.T, interval time.Duration) string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	text := fmt.Sprintf("#!/bin/sh\nFLEET_INTERVAL=%s FLEET_CHILD=1 exec %s \"$@\"\n", interval, self)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// agent starts an agent, and returns it and what ends it.
func (p *place) agent(name string, change func(a *Agent)) (a *Agent, end func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a = &Agent{Server: Server{URL: p.url}, Name: name, Labels: map[string]string{"role": "db"},
		Program: program(p.t, p.interval),
		Limits: Limits{Jobs: 2, Duration: time.Minute, Interval: time.Millisecond, Waiting: 1 << 20,
			Lease: 3 * time.Second},
		Permit: func(*Job) error { return nil }, Say: func(string) {},
		Tell: func(*Job, time.Time, uint64, error) {}}
	if change != nil {
		change(a)
	}
	var one sync.WaitGroup
	one.Go(func() {
		if err := a.Run(ctx); err != nil {
			p.t.Error(err)
		}
	})
	end = func() { cancel(); one.Wait() }
	p.t.Cleanup(end)
	return a, end
}

// waitForHosts waits until the hub knows n hosts.
func (p *place) waitForHosts(n int) {
	p.t.Helper()
	nc := p.dialAs("")
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if list, _, err := hosts(context.Background(), nc, nil); err == nil && len(list) == n {
			return
		}
	}
	p.t.Fatalf("the hub does not know %d hosts", n)
}

// dialAs connects as the agent of a host.
func (p *place) dialAs(name string) *nats.Conn {
	p.t.Helper()
	s := Server{URL: p.url, token: p.secret}
	nc, err := s.connect("test", name, false)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(nc.Close)
	return nc
}

// request sends a message about a job, and returns the first answer of a host.
func request(nc *nats.Conn, m *nats.Msg, id string, wait time.Duration) (*nats.Msg, error) {
	sub, err := nc.SubscribeSync(answerSubject + id + ".*")
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	if err := nc.PublishMsg(m); err != nil {
		return nil, err
	}
	return sub.NextMsg(wait)
}

// answers are what a run shows.
type answers struct {
	mu       sync.Mutex
	text     bytes.Buffer
	messages []string
	windows  chan struct{} // for each window; nil for none
}

// Write implements io.Writer.
func (a *answers) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case a.windows <- struct{}{}:
	default:
	}
	return a.text.Write(b)
}

func (a *answers) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text.String() + strings.Join(a.messages, "\n")
}

// ask runs a question of so many windows.
func (p *place) ask(ctx context.Context, script string, to *answers, change func(a *Asker)) error {
	asker := &Asker{Server: Server{URL: p.url, token: p.secret}, Labels: map[string]string{"role": "db"},
		Late: time.Second}
	if change != nil {
		change(asker)
	}
	cfg := &session.Config{Messages: func(line string) {
		to.mu.Lock()
		defer to.mu.Unlock()
		to.messages = append(to.messages, line)
	}, Output: func(func(event.Time) time.Time) (render.Renderer, error) {
		return render.New(to, render.Options{Format: "json", Clock: wall})
	}}
	cfg.Options.Interval = p.interval
	_, err := asker.Run(ctx, &Question{Request: Request{Name: script}, Config: cfg, JSON: true})
	return err
}

// windowOutput is a record of the output of a run.
type windowOutput struct {
	Type string `json:"type"`
	Data struct {
		Rows []struct {
			Comm       string
			Calls, Sum int64
		}
		Told, Of int
		Missing  []string
	}
}

func (a *answers) records(t testing.TB) (list []windowOutput) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(a.text.String()))
	for {
		var s windowOutput
		switch err := d.Decode(&s); {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			t.Fatalf("%v in %s", err, a.text.String())
		}
		list = append(list, s)
	}
}

// total is the calls of all tables, and the hosts of the windows.
func (a *answers) total(t *testing.T) (calls, sum int64, told int) {
	for _, s := range a.records(t) {
		for _, row := range s.Data.Rows {
			calls += row.Calls
			sum += row.Sum
		}
		told += s.Data.Told
	}
	return calls, sum, told
}

// What machines counted adds up, in each window, and all of them are in it.
func TestSumsOfMachinesAreExact(t *testing.T) {
	p := hub(t, "127.0.0.1:0")
	for i := range 5 {
		p.agent(fmt.Sprint("host", i), nil)
	}
	p.waitForHosts(5)
	to := &answers{}
	if err := p.ask(context.Background(), "4", to, nil); err != nil {
		t.Fatal(err, to)
	}
	// 10+20+30+40 calls of each; the sum is that of the squares.
	if calls, sum, _ := to.total(t); calls != 5*100 || sum != 5*3000 {
		t.Errorf("got %d calls and the sum %d, want 500 and 15000: %s", calls, sum, to)
	}
}

func TestHostsAreKeptApart(t *testing.T) {
	p := hub(t, "127.0.0.1:0")
	p.agent("a", nil)
	p.agent("b", nil)
	p.agent("other", func(a *Agent) { a.Labels = map[string]string{"role": "web"} })
	p.waitForHosts(3)
	to := &answers{}
	if err := p.ask(context.Background(), "1", to, func(a *Asker) { a.ByHost = true }); err != nil {
		t.Fatal(err)
	}
	text := to.text.String()
	if !strings.Contains(text, `"host":"a"`) || !strings.Contains(text,
		`"host":"b"`) || strings.Contains(text, "other") {
		t.Errorf("got %s", text)
	}
}

// A host whose process dies, one that has another version, one that refuses: each is named.
func TestWhoIsMissingIsNamed(t *testing.T) {
	p := hub(t, "127.0.0.1:0")
	p.agent("good", nil)
	p.agent("refuses", func(a *Agent) {
		a.Permit = func(*Job) error {
			return diag.Errorf(diag.Usage, "run", "1", "not on Mondays").WithHint("come tomorrow")
		}
	})
	p.agent("dies", func(a *Agent) { a.Program = "/bin/false" })
	p.waitForHosts(3)
	to := &answers{}
	if err := p.ask(context.Background(), "2", to, nil); err != nil {
		t.Fatal(err)
	}
	text := to.String()
	for _, part := range []string{"refused by refuses: run 1: not on Mondays",
		"hint: come tomorrow", "dies ended:"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
	some := false
	for _, s := range to.records(t) {
		if s.Type == "hosts" {
			some = true
			if d := s.Data; d.Told != 1 || d.Of != 3 || !slices.Equal(d.Missing, []string{"dies"}) {
				t.Errorf("got %+v", s)
			}
		}
	}
	if !some {
		t.Errorf("nobody is named: %s", text)
	}
}

// The asker and dies leaves no agent working.
func TestJobsEndWithTheirLease(t *testing.T) {
	p := hub(t, "127.0.0.1:0")
	a, _ := p.agent("a", func(a *Agent) { a.Limits.Lease = 600 * time.Millisecond })
	p.waitForHosts(1)
	s := Server{URL: p.url}
	nc, err := s.connect("test", "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	j := must(Job{ID: "x", Request: Request{Name: "1000"}})
	m, err := request(nc, &nats.Msg{Subject: jobSubject, Data: j}, "x", 3*time.Second)
	if err != nil || strings.Contains(string(m.Data), "error") {
		t.Fatal(err, m)
	}
	running := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.jobs)
	}
	if running() != 1 {
		t.Fatal("the job does not run")
	}
	for end := time.Now().Add(10 * time.Second); running() > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the job goes on without a lease")
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.past) != 1 || a.past[0].Error != errLease.Error() {
		t.Errorf("got %+v", a.past)
	}
}

// A hub that is away for a while loses nothing: agents keep what they found out.
func TestHubThatComesBack(t *testing.T) {
	first := hub(t, "127.0.0.1:0")
	first.agent("a", nil)
	first.agent("b", nil)
	first.waitForHosts(2)
	to := &answers{windows: make(chan struct{}, 1)}
	var err error
	var asked sync.WaitGroup
	asked.Go(func() {
		err = first.ask(context.Background(), "10", to, func(a *Asker) { a.Late = 20 * time.Second })
	})
	<-to.windows
	first.stop()
	first.all.Wait()
	time.Sleep(10 * defaultInterval) // all windows end while it is away
	hub(t, strings.TrimPrefix(first.url, "nats://"))
	asked.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if calls, _, _ := to.total(t); calls != 2*550 {
		t.Errorf("got %d calls, want 1100: %s", calls, to)
	}
}

// Frames of anybody else, and garbage, change nothing.
func TestGarbageOnTheWire(t *testing.T) {
	p := hub(t, "127.0.0.1:0")
	p.agent("a", nil)
	p.waitForHosts(1)
	nc := p.dialAs("a")                                                // as a could, whatever it sends
	nc.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}) // it may not be nobody
	if _, err := nc.Subscribe(jobSubject, func(m *nats.Msg) {
		var j Job
		if json.Unmarshal(m.Data, &j) != nil {
			return
		}
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 10000 {
			g := nats.NewMsg(partSubject + j.ID + "." + []string{"a", "nobody"}[i%2])
			g.Data = make([]byte, r.IntN(100))
			for k := range g.Data {
				g.Data[k] = byte(r.Uint32())
			}
			_ = nc.PublishMsg(g)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	to := &answers{}
	if err := p.ask(context.Background(), "2", to, nil); err != nil {
		t.Fatal(err)
	}
	if calls, _, _ := to.total(t); calls != 30 {
		t.Errorf("got %d calls, want 30: %s", calls, to)
	}
	if !strings.Contains(to.String(), "a is left out: ") {
		t.Errorf("the garbage is not told: %s", to)
	}
}
