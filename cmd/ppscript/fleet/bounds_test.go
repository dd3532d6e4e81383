package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/session"
	"ppscript/runtime/text/diag"
)

// A full queue drops the oldest frames, and the asker is told how many.
func TestQueuesAreBounded(t *testing.T) {
	j := &job{agent: &Agent{Limits: Limits{Waiting: 100}}, wake: make(chan struct{}, 1)}
	for range 50 {
		j.put(make([]byte, 10))
	}
	if len(j.waiting) != 10 || j.dropped != 40 || j.frames != 50 || j.bytes != 100 {
		t.Errorf("got %d frames of %d bytes, %d dropped", len(j.waiting), j.bytes, j.dropped)
	}
	to := &answers{}
	c := &collector{hosts: map[string]*source{"a": {}},
		q: &Question{Config: &session.Config{Messages: func(s string) {
			to.messages = append(to.messages, s)
		}}}}
	if err := c.take(arrival{host: "a", ended: &JobEnd{Host: "a", Frames: 50,
		Dropped: 40}}); err != nil {
		t.Fatal(err)
	}
	if c.result.Loss.Dropped != 50 || !strings.Contains(to.String(), "a: 50 frames are missing") {
		t.Errorf("got %+v, %s", c.result.Loss, to)
	}
}

// A run does not wait for ever for a host that is gone: it ends after --duration, or when no host is
// left.
func TestHostsThatAreGoneHoldNobody(t *testing.T) {
	to := &answers{}
	now := time.Now()
	c := &collector{hosts: map[string]*source{"a": {ended: true}, "b": {heard: now}},
		roll: roll{wrong: map[string]bool{}},
		q: &Question{Config: &session.Config{Messages: func(s string) {
			to.messages = append(to.messages,
				s)
		}}}}
	c.q.Config.Options.Interval = time.Second
	for _, x := range []struct {
		after time.Duration
		want  bool
	}{{0, false}, {silence, false}, {silence + 2*time.Second, true}, {silence + 3*time.Second, true}} {
		if got := c.over(now.Add(x.after)); got != x.want {
			t.Errorf("after %s: got %t, want %t", x.after, got, x.want)
		}
	}
	if len(to.messages) != 1 || !strings.HasPrefix(to.messages[0], "b: nothing was heard of it") {
		t.Errorf("got %q, want one message about b", to.messages)
	}
	if err := c.take(arrival{host: "b"}); err != nil || c.over(now.Add(silence)) {
		t.Errorf("it came back: got %v, and it is still gone", err)
	}
	if c.until = now.Add(time.Minute); !c.over(now.Add(61 * time.Second)) {
		t.Error("the time of the job is over, and the run goes on")
	}
}

func TestWhatAgentsRefuse(t *testing.T) {
	shipped := func(name string) bool { return name == "syscalls" }
	common := func(name string) bool {
		return slices.Contains([]string{"output", "cpus", "interval",
			"allow"}, name)
	}
	f := func(q Request, want string) {
		t.Helper()
		err := q.Check(shipped, common)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(),
			want) || diag.HintOf(err) == "") {
			t.Errorf("%s: got %v, want %q", q.String(), err, want)
		}
	}
	f(Request{Name: "syscalls", Options: []Option{{Name: "cpus", Values: []string{"0"}},
		{Name: "than", Values: []string{"1ms"}}}}, "")
	f(Request{Name: "/tmp/x.star"}, "is not a profiler")
	f(Request{Name: "-c"}, "is not a profiler")
	f(Request{Name: "record"}, "is not a profiler")
	f(Request{Name: "syscalls", Options: []Option{{Name: "output",
		Values: []string{"/etc/passwd"}}}}, "agents do not take it")
	f(Request{Name: "syscalls", Options: []Option{{Name: "allow", Values: []string{"write=/"}}}},
		"agents do not take it")
	f(Request{Name: "syscalls", Options: []Option{{Name: "interval", Values: []string{"1ns"}}}},
		"agents do not take it")
	for _, events := range []string{`sched:sched_switch//pull ="/etc/shadow"/`, "sched:sched_switch//pull=1/",
		"kvm:*,sched:sched_switch//key=pid/ push = 1/", `top/-e 'sched:sched_switch//pull ="/x"/'/`} {
		f(Request{Name: "syscalls", Options: []Option{{Name: "events", Values: []string{events}}}},
			"= is not for other machines")
	}
	f(Request{Name: "syscalls", Options: []Option{{Name: "events",
		Values: []string{`sched:sched_switch/prev_comm=="pull=x"/`}}}}, "")
	f(Request{Name: "syscalls", Options: []Option{{Name: "x=1 --output", Values: []string{"1"}}}},
		"no name of an option")
	f(Request{Name: "syscalls", Options: []Option{{Name: "e", Values: []string{"a:b//push=9/"}}}},
		"push=")
	f(Request{Name: "syscalls", Args: []string{"--output=/x"}}, "begins as an option")
}

func TestLimitsOfAgents(t *testing.T) {
	a := &Agent{Limits: Limits{Jobs: 1, Duration: time.Minute, Interval: time.Second}}
	for _, j := range []Job{{Interval: time.Millisecond}, {Duration: time.Hour}, {Duration: -1}} {
		if err := a.bound(&j); err == nil || diag.HintOf(err) == "" {
			t.Errorf("%+v: got %v", j, err)
		}
	}
	if err := a.bound(&Job{Interval: time.Second, Duration: time.Minute}); err != nil {
		t.Error(err)
	}
}

func TestHubsThatAnybodyCouldReachWantASecret(t *testing.T) {
	h := &Hub{Listen: "0.0.0.0:0", Say: func(string) {}}
	if err := h.Run(context.Background()); err == nil || !strings.Contains(err.Error(),
		"no secret or certificate is required") {
		t.Errorf("got %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h.Listen = l.Addr().String()
	if err := h.Run(context.Background()); err == nil || !strings.Contains(err.Error(),
		"address already in use") {
		t.Errorf("a port in use: got %v", err)
	}
	// With a secret only clients that know it are let in.
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer func() { cancel(); all.Wait() }()
	ready := make(chan string, 1)
	h = &Hub{Listen: "127.0.0.1:0", Server: Server{TokenFile: secret}, Say: func(string) {},
		Ready: func(url string) { ready <- url }}
	all.Go(func() {
		if err := h.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	url := <-ready
	in, out := Server{URL: url, TokenFile: secret}, Server{URL: url}
	if nc, err := in.connect("test", "", false); err != nil {
		t.Error(err)
	} else {
		nc.Close()
	}
	if _, err := out.connect("test", "", false); err == nil || !strings.Contains(diag.HintOf(err),
		"--token-file") {
		t.Errorf("without the secret: got %v", err)
	}
}

// A host that answers a job late is missing only until its first message.
func TestSilentHostsCountWhenTheyAreHeardOf(t *testing.T) {
	p := hub(t, "127.0.0.1:0")
	p.agent("good", nil)
	nc := p.dialAs("slow")
	const answer, windows = 200 * time.Millisecond, 20
	slow := Host{Name: "slow", Labels: map[string]string{"role": "db"}}
	if _, err := nc.Subscribe(jobSubject, func(m *nats.Msg) { // it never answers, but runs the job
		var j Job
		_ = json.Unmarshal(m.Data, &j)
		time.Sleep(2 * answer) // the asker has waited for it
		f := &mergeable.Frame{Host: "slow", Seq: 1, End: time.Now().UnixNano(), Final: true,
			Results: []mergeable.Result{calls(7)}}
		f.Begin = f.End - int64(200*time.Millisecond)
		part := nats.NewMsg(partSubject + j.ID + ".slow")
		part.Data = f.Append(nil)
		_, _ = nc.RequestMsg(part, time.Second)
		_, _ = nc.Request(endSubject+j.ID+".slow", must(JobEnd{Host: "slow", Frames: 1}), time.Second)
	}); err != nil {
		t.Fatal(err)
	}
	// A known host is asked at once, so its subscription must be at the hub before its first beat.
	if err := errors.Join(nc.Flush(), nc.Publish(beatSubject+"slow", must(slow))); err != nil {
		t.Fatal(err)
	}
	p.waitForHosts(2)
	to := &answers{}
	late := func(a *Asker) { a.Late, a.Answer = 30*time.Second, answer }
	if err := p.ask(context.Background(), fmt.Sprint(windows), to, late); err != nil {
		t.Fatal(err, to)
	}
	const want = 10*windows*(windows+1)/2 + 7
	if n, _, _ := to.total(t); n != want {
		t.Errorf("got %d calls, want %d: %s", n, want, to)
	}
}

// A cable forwards a connection to a hub, and can be cut.
type cable struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// lay starts a cable, and returns the address of its near end.
func lay(t *testing.T, to string) (c *cable, url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c = &cable{}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); c.set(true); all.Wait() })
	all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", strings.TrimPrefix(to, "nats://"))
			c.mu.Lock()
			if err != nil || c.cut {
				_ = near.Close()
				if err == nil {
					_ = far.Close()
				}
				c.mu.Unlock()
				continue
			}
			c.conns = append(c.conns, near, far)
			c.mu.Unlock()
			all.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
			all.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
		}
	})
	return c, "nats://" + l.Addr().String()
}

// set cuts the cable, or mends it.
func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut = cut; cut {
		for _, conn := range c.conns {
			_ = conn.Close()
		}
		c.conns = nil
	}
}

// The asker has no connection for longer than a lease. Hosts with --keep send the kept results when it
// is back, each once.
func TestResultsAreKeptForWhoIsCutOff(t *testing.T) {
	p := hub(t, "127.0.0.1:0")
	lease := func(a *Agent) { a.Limits.Lease = 100 * time.Millisecond }
	p.agent("a", lease)
	p.agent("b", lease)
	p.waitForHosts(2)
	way, url := lay(t, p.url)
	direct := p.url
	to := &answers{windows: make(chan struct{}, 1)}
	const windows = 20
	var err error
	var asked sync.WaitGroup
	asked.Go(func() {
		err = p.ask(context.Background(), fmt.Sprint(windows), to, func(a *Asker) {
			a.Server.URL, a.Late, a.Keep, a.Parts = url, 20*time.Second, 30*time.Second, []int{1}
		})
	})
	<-to.windows
	way.set(true)
	time.Sleep(500 * time.Millisecond) // five leases, after which agents with --keep still run
	way.set(false)
	asked.Wait()
	if err != nil {
		t.Fatal(err, to)
	}
	p.url = direct
	p.exact(2, windows, to)
	// Without that, the job ends with its lease.
	if err := (&Agent{Limits: Limits{Duration: time.Second}}).bound(&Job{Keep: time.Minute}); err == nil ||
		diag.HintOf(err) == "" {
		t.Errorf("a minute without the asker, where jobs may take a second: got %v", err)
	}
}

// When nothing arrives for long, and then everything at once, no host counts as late.
func TestWhoWasCutOffWaitsForAll(t *testing.T) {
	now := time.Now()
	c := &collector{q: &Question{Config: &session.Config{}}, asker: &Asker{Late: time.Second},
		roll: roll{heard: now}}
	c.q.Config.Options.Interval = time.Second
	end := now.UnixNano()
	at := now.Add(1400 * time.Millisecond)
	c.hear(at)
	if !c.expired(at, end) {
		t.Error("a window that nobody was kept from telling waits")
	}
	at = at.Add(10 * time.Second)
	c.hear(at)
	if c.expired(at, end) || c.expired(at.Add(900*time.Millisecond), end) {
		t.Error("a window expires that hosts had no chance to tell")
	}
	if !c.expired(at.Add(1100*time.Millisecond), end) {
		t.Error("it waits for ever")
	}
}
