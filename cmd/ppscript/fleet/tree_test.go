package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/session"
	"ppscript/tests/testkit"
)

// bare starts a hub that puts nothing together itself.
func bare(t *testing.T) *place {
	t.Helper()
	return hubOf(t, &Hub{Listen: "127.0.0.1:0", NoMerger: true})
}

// dial is a connection of the test's own.
func (p *place) dial() *nats.Conn {
	p.t.Helper()
	return p.dialAs("")
}

// merger starts one, and returns what kills it: without a word, with all that it has.
func (p *place) merger(change func(g *Merger)) (kill func()) {
	p.t.Helper()
	nc := p.dial()
	g := &Merger{Say: func(string) {}}
	if change != nil {
		change(g)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var one sync.WaitGroup
	one.Go(func() {
		if err := g.serve(ctx, nc); err != nil && ctx.Err() == nil &&
			!errors.Is(err, nats.ErrConnectionClosed) { // so it is killed
			p.t.Error(err)
		}
	})
	kill = func() { nc.Close(); cancel(); one.Wait() }
	p.t.Cleanup(func() { cancel(); one.Wait() })
	return kill
}

// countingAsker counts what comes to the asker.
type countingAsker struct {
	mu                   sync.Mutex
	direct, merged, most int // most hosts in one frame
}

func (p *place) count() *countingAsker {
	p.t.Helper()
	c := &countingAsker{}
	nc := p.dial()
	_, err := nc.Subscribe(partSubject+"*.*", func(*nats.Msg) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.direct++
	})
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = nc.Subscribe(sumSubject+"*", func(m *nats.Msg) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.merged++
		if f, err := mergeable.Head(m.Data); err == nil {
			c.most = max(c.most, len(f.Shares))
		}
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *place) agents(n int) {
	p.t.Helper()
	for i := range n {
		p.agent(fmt.Sprintf("host%02d", i), nil)
	}
	p.waitForHosts(n)
}

// want asks for windows in which n hosts count, and wants each call to be counted once.
func (p *place) want(n, windows int, change func(a *Asker)) *answers {
	p.t.Helper()
	to := &answers{}
	if err := p.ask(context.Background(), fmt.Sprint(windows), to, change); err != nil {
		p.t.Fatal(err, to)
	}
	p.exact(n, windows, to)
	return to
}

func (p *place) exact(n, windows int, to *answers) {
	p.t.Helper()
	var calls, sum int64
	for i := range windows {
		calls += int64(10 * (i + 1))
		sum += int64(100 * (i + 1) * (i + 1))
	}
	calls, sum = calls*int64(n), sum*int64(n)
	if c, s, _ := to.total(p.t); c != calls || s != sum {
		p.t.Errorf("got %d calls and the sum %d, want %d and %d: %s", c, s, calls, sum, to)
	}
}

// Frames of many hosts come to the asker as few, on one level of mergers and on two; and the sums are those
// of all hosts.
func TestMergersPutHostsTogether(t *testing.T) {
	p := hub(t, "127.0.0.1:0")
	p.merger(nil)                    // beside that of the hub
	p.interval = 4 * defaultInterval // frames of a busy machine are late otherwise, and go past them
	const hosts, windows = 12, 4
	p.agents(hosts)
	for _, parts := range [][]int{{2}, {4, 2}, {6, 3, 1}} {
		testkit.Again(t, func() []string {
			c := p.count()
			to := p.want(hosts, windows, func(a *Asker) { a.Parts, a.Late = parts, 20*time.Second })
			c.mu.Lock()
			defer c.mu.Unlock()
			// On a busy machine some are late, and go past the mergers.
			if c.merged > 0 && c.direct+c.merged <= hosts*windows*3/4 && c.most >= 2 {
				return nil
			}
			return []string{fmt.Sprintf(
				"%v: got %d frames of one host and %d of several, with %d hosts at most: %s", parts, c.direct,
				c.merged, c.most, to)}
		})
	}
}

// A run that keeps hosts apart or compares them gets what each host told, by mergers, too.
func TestMergersKeepHostsApart(t *testing.T) {
	p := hub(t, "127.0.0.1:0")
	p.interval = 4 * defaultInterval
	const hosts = 6
	p.agents(hosts)
	late := 20 * time.Second
	testkit.Again(t, func() []string {
		c := p.count()
		to := p.want(hosts, 2, func(a *Asker) { a.Parts, a.ByHost, a.Late = []int{2, 1}, true, late })
		for i := range hosts {
			if !strings.Contains(to.text.String(), fmt.Sprintf(`"host":"host%02d"`, i)) {
				t.Errorf("host%02d is not there: %s", i, to)
			}
		}
		to = p.want(hosts, 4, func(a *Asker) { a.Parts, a.Outliers, a.Late = []int{2}, true, late })
		c.mu.Lock()
		defer c.mu.Unlock()
		if text := to.text.String(); !strings.Contains(text, `"hosts":6,"differ":0`) {
			return []string{"the hosts are not compared: " + text}
		}
		if c.merged == 0 || c.direct > c.merged {
			return []string{fmt.Sprintf("got %d frames of one host and %d of several", c.direct, c.merged)}
		}
		return nil
	})
}

// Without mergers, or with one that has no room, hosts send to the asker.
func TestHostsWithoutMergers(t *testing.T) {
	p := bare(t)
	p.agents(3)
	p.want(3, 2, func(a *Asker) { a.Parts, a.Late = []int{2}, 20*time.Second })
	said := make(chan string, 100)
	p.merger(func(g *Merger) { g.Waiting, g.Say = 1, func(line string) { said <- line } })
	p.want(3, 2, func(a *Asker) { a.Parts, a.Late = []int{2}, 20*time.Second })
	if line := <-said; !strings.Contains(line, "frames found no room among 1 bytes") {
		t.Errorf("got %q", line)
	}
}

// Mergers come, die with all that they have, and end in order, while a job runs: each call is counted once.
func TestMergersThatDieLoseNothing(t *testing.T) {
	p := bare(t)
	const hosts, windows = 8, 12
	p.agents(hosts)
	r := rand.New(rand.NewPCG(1, 19))
	alive := []func(){p.merger(nil), p.merger(nil)}
	to := &answers{windows: make(chan struct{}, 1)}
	var asked sync.WaitGroup
	var err error
	asked.Go(func() {
		err = p.ask(context.Background(), fmt.Sprint(windows), to, func(a *Asker) {
			a.Parts, a.Late = []int{4, 2}, 20*time.Second
		})
	})
	<-to.windows
	for range 4 {
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		i := r.IntN(len(alive))
		alive[i]()
		alive[i] = p.merger(nil)
	}
	asked.Wait()
	if err != nil {
		t.Fatal(err, to)
	}
	p.exact(hosts, windows, to)
}

// A merger that is frozen holds nobody up for long: what it has is sent again, past it. When it goes on, and
// brings what it had, that is refused frame by frame.
func TestFrozenMergersHoldNothing(t *testing.T) {
	p := bare(t)
	const hosts, windows = 4, 100 // more than two seconds, after which frames are sent again
	p.agents(hosts)
	frozen := p.dial()
	var mu sync.Mutex
	w := mergeable.NewMerger(nil).NewWindow()
	had := &mergeable.Frame{Host: "frozen"}
	job := ""
	_, err := frozen.QueueSubscribe(mergeSubject+"*.*.*", mergeQueue, func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		f, err := mergeable.Decode(m.Data)
		if err != nil {
			t.Error(err)
			return
		}
		f.Host = speaker(m.Subject)
		had.Script, had.Begin, had.End = f.Script, f.Begin, f.End
		had.Shares = append(had.Shares, f.Share())
		if err := w.Add(f); err != nil {
			t.Error(err)
		}
		words := strings.Split(m.Subject, ".")
		job = words[len(words)-2]
	})
	if err == nil {
		err = frozen.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	to := &answers{windows: make(chan struct{}, 1)}
	var asked sync.WaitGroup
	asked.Go(func() {
		err = p.ask(context.Background(), fmt.Sprint(windows), to, func(a *Asker) {
			a.Parts, a.Late = []int{1}, 20*time.Second
		})
	})
	<-to.windows // so they were sent again
	mu.Lock()
	sortShares(had.Shares)
	had.Results = w.Results()
	m := nats.NewMsg(sumSubject + job)
	m.Header.Set(mergerHeader, "frozen")
	m.Data = had.Append(nil)
	n := len(had.Shares)
	mu.Unlock()
	reply, failed := frozen.RequestMsg(m, 5*time.Second)
	asked.Wait()
	if err != nil || failed != nil {
		t.Fatal(err, failed, to)
	}
	var taken FrameAnswer
	if err := json.Unmarshal(reply.Data, &taken); err != nil || n < hosts || len(taken.Without) != n {
		t.Errorf("got the answer %s to %d frames that had come before, %v", reply.Data, n, err)
	}
	p.exact(hosts, windows, to)
}

// What was refused of a batch is told to whom it is of, and the rest goes up again.
func TestBatchesGoUpWithoutWhatWasCounted(t *testing.T) {
	share := func(host string, seq uint64) mergeable.Share { return mergeable.Share{Host: host, Seq: seq} }
	mk := func() []*item {
		return []*item{{name: "a", shares: []mergeable.Share{share("a", 1)}},
			{name: "a", shares: []mergeable.Share{share("a", 2)}},
			{name: "m", shares: []mergeable.Share{share("b", 1), share("c", 7)}}}
	}
	g := &Merger{}
	g.nc = bare(t).dial()
	for _, x := range []struct {
		without []FrameID
		left    []int
	}{{nil, nil}, {[]FrameID{{"a", 1}}, []int{1, 2}}, {[]FrameID{{"c", 7}}, []int{0, 1}},
		{[]FrameID{{"a", 2}, {"b", 1}}, []int{0}}, {[]FrameID{{"nobody", 1}}, nil}} {
		items := mk()
		var want []*item
		for _, i := range x.left {
			want = append(want, items[i])
		}
		if left := g.settled(items, FrameAnswer{Without: x.without}); !slices.Equal(left, want) {
			t.Errorf("%v: %d are left, want %v", x.without, len(left), x.left)
		}
	}
}

func TestRoutes(t *testing.T) {
	for _, x := range []struct {
		hosts int
		want  []int
	}{{0, nil}, {49, nil}, {50, []int{1}}, {1000, []int{4}}, {10_000, []int{40, 3}},
		{100_000, []int{400, 25, 2}}} {
		if got := parts(x.hosts); !reflect.DeepEqual(got, x.want) {
			t.Errorf("%d hosts: got %v, want %v", x.hosts, got, x.want)
		}
	}
	j := &Job{ID: "j", Interval: 1, Tree: &Tree{Parts: []int{40, 3}, Apart: true}}
	seen := map[int]int{}
	for i := range 1000 {
		r, ok := j.route(fmt.Sprint("host", i))
		back, err := parseRoute("j", r.header())
		if !ok || err != nil || !reflect.DeepEqual(back, r) {
			t.Fatalf("got %+v, %v, want %+v", back, err, r)
		}
		seen[r.part]++
		up, ok := r.next()
		back, err = parseRoute("j", up.header())
		if !ok || up.part != r.part%3 || err != nil || back.part != up.part || len(back.up) != 0 {
			t.Fatalf("above %+v: got %+v, %v", r, back, err)
		}
		if _, more := up.next(); more {
			t.Fatal("there is a third level")
		}
	}
	for part, n := range seen {
		if len(seen) != 40 || n < 5 || n > 60 {
			t.Errorf("part %d of %d has %d of 1000 hosts", part, len(seen), n)
		}
	}
	for _, text := range []string{"", "x", "-1", "1/0", "1/2/3/4/5", "1/9999999999", "/", "1//2"} {
		if r, err := parseRoute("j", text); err == nil {
			t.Errorf("%q: got %+v", text, r)
		}
	}
	if _, ok := (&Job{Tree: &Tree{Parts: []int{0}}}).route("a"); ok {
		t.Error("a tree without parts has a route")
	}
}

// An asker that lacks frames asks each host once for each window, and not all of them at a time.
func TestHostsAreAskedAgainByPortions(t *testing.T) {
	now := time.Now()
	c := &collector{hosts: map[string]*source{}, windows: map[int64]*window{}, asker: &Asker{},
		q: &Question{Config: &session.Config{}}, roll: roll{heard: now}}
	for i := range 1200 {
		c.expect(fmt.Sprint("host", i))
	}
	c.q.Config.Options.Interval = time.Second
	w := &window{whole: map[string]bool{}}
	c.windows[now.UnixNano()] = w
	if a, some := c.lacks(now.Add(defaultLate/2 - time.Millisecond)); some {
		t.Errorf("too early: got %+v", a)
	}
	asked := map[string]int{}
	for range 5 {
		if a, some := c.lacks(now.Add(defaultLate/2 + time.Millisecond)); some {
			n := 0
			for host := range c.hosts {
				if a.of(host) {
					asked[host]++
					n++
				}
			}
			if n < 300 || n > 500 {
				t.Errorf("%+v are %d hosts", a, n)
			}
		}
	}
	if len(asked) != 1200 {
		t.Errorf("got %d hosts, want 1200", len(asked))
	}
	for host, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked %d times", host, n)
		}
	}
	for host := range c.hosts {
		w.whole[host] = true
	}
	w.requests = 0
	if a, some := c.lacks(now.Add(defaultLate)); some {
		t.Errorf("a window that is whole: got %+v", a)
	}
	if _, some := c.lacks(now.Add(time.Minute)); !some {
		t.Error("nothing comes at all, and nobody is asked")
	}
}
