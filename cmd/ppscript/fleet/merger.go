package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/runtime/result/mergeable"
)

// A Merger merges frames of many hosts into one, so that the asker receives fewer
// messages. tree.go explains the way of frames.
type Merger struct {
	Server  Server
	Name    string // "": the hostname and a random number
	Waiting int64  // bytes of frames that may wait until the asker has counted them
	Say     func(line string)
	Ready   func(url string) // called with the server's URL when the merger is ready; may be nil

	nc *nats.Conn
	shares
	gathering
}

// shares has the known mergers, and the slots of this one.
type shares struct {
	mates map[string]time.Time // when each other merger last reported
	own   map[int][]*nats.Subscription
}

// gathering has the frames that have arrived and that the asker has not counted
// yet.
type gathering struct {
	mu      sync.Mutex
	over    bool // the merger ends; no new batches
	batches map[batchKey]*batch
	items   map[[sha256.Size]byte]*item
	bytes   int64
	refused int // frames refused since the last message about it
	all     sync.WaitGroup
	ends    <-chan struct{}
}

const (
	mergeQueue = "mergers"
	// mateTime is how often a merger reports to the others. After lostMate without a report, the
	// others take over its slots.
	mateTime = time.Second
	lostMate = 3500 * time.Millisecond
	mostMate = 1000
	// A batch is sent after quietTime without another frame, or after gatherTime.
	quietTime  = 80 * time.Millisecond
	gatherTime = 300 * time.Millisecond
	// giveUp is how long a merger tries to send a frame to the next level. After it,
	// agents send their frames again.
	giveUp = 15 * time.Second
	// defaultWaiting is the default of Merger.Waiting.
	defaultWaiting = 256 << 20
)

// A mate is the message by which a merger reports to the other mergers.
type mate struct {
	Name string `json:"name"`
	Gone bool   `json:"gone,omitempty"`
	New  bool   `json:"new,omitempty"` // it asks the others to report at once
}

// Run serves until ctx ends.
func (g *Merger) Run(ctx context.Context) error {
	nc, err := g.Server.connect("merger", "", false)
	if err != nil {
		return err
	}
	defer nc.Close()
	if g.Ready == nil {
		g.Ready = func(url string) { g.Say("merger " + g.Name + " of " + url) }
	}
	return g.serve(ctx, nc)
}

// serve merges the frames that arrive by a connection until ctx ends.
func (g *Merger) serve(ctx context.Context, nc *nats.Conn) error {
	if g.Name == "" {
		id := make([]byte, 4)
		_, _ = rand.Read(id)
		g.Name = hostname() + "-" + hex.EncodeToString(id)
	}
	g.nc, g.Waiting, g.ends = nc, cmp.Or(g.Waiting, defaultWaiting), ctx.Done()
	g.mates, g.own = map[string]time.Time{}, map[int][]*nats.Subscription{}
	g.batches, g.items = map[batchKey]*batch{}, map[[sha256.Size]byte]*item{}
	// Frames in progress are completed after ctx ends, since their senders wait
	// for an answer.
	working, enough := context.WithCancel(context.WithoutCancel(ctx))
	defer enough()
	heard := make(chan mate, 64)
	sub, err := nc.Subscribe(matesSubject, func(m *nats.Msg) {
		var x mate
		if read(m.Data, &x) != nil || x.Name == g.Name {
			return
		}
		select {
		case heard <- x:
		case <-ctx.Done():
		}
	})
	if err != nil {
		return err
	}
	defer sub.Unsubscribe()
	g.tell(mate{Name: g.Name, New: true})
	if err := g.divide(working); err != nil {
		return err
	}
	if err := nc.Flush(); err != nil {
		return err
	}
	if g.Ready != nil {
		g.Ready(nc.ConnectedUrl())
	}
	tick := time.NewTicker(mateTime)
	defer tick.Stop()
	closed := nc.StatusChanged(nats.CLOSED)
	var lost error
	for ctx.Err() == nil && lost == nil {
		select {
		case <-ctx.Done():
		case <-closed:
			lost = goneForGood(nc)
		case <-tick.C:
			g.tell(mate{Name: g.Name})
			g.tellFull()
			err = g.divide(working)
		case x := <-heard:
			err = g.meet(working, x)
		}
		if err != nil && nc.IsConnected() {
			g.Say("merger " + g.Name + ": " + err.Error())
		}
	}
	for _, list := range g.own {
		for _, s := range list {
			_ = s.Unsubscribe()
		}
	}
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
	g.tell(mate{Name: g.Name, Gone: true})
	over := time.AfterFunc(2*time.Second, enough)
	defer over.Stop()
	g.all.Wait()
	if nc.IsConnected() {
		_ = nc.FlushTimeout(time.Second)
	}
	return lost
}

func (g *Merger) tell(m mate) { _ = g.nc.Publish(matesSubject, must(m)) } // repeated each second

// tellFull prints how many frames were refused because the merger's memory was
// full.
func (g *Merger) tellFull() {
	g.mu.Lock()
	n := g.refused
	g.refused = 0
	g.mu.Unlock()
	if n > 0 {
		g.Say(fmt.Sprintf("merger %s: %d frames found no room among %d bytes, and went to the asker: "+
			"start another one: ppscript merger --hub URL", g.Name, n, g.Waiting))
	}
}

// meet processes the report of another merger.
func (g *Merger) meet(ctx context.Context, x mate) error {
	_, known := g.mates[x.Name]
	switch {
	case x.Gone:
		delete(g.mates, x.Name)
	case known || len(g.mates) < mostMate:
		g.mates[x.Name] = time.Now()
	}
	if x.New {
		g.tell(mate{Name: g.Name})
	}
	if known != x.Gone {
		return nil
	}
	return g.divide(ctx)
}

// divide subscribes to the slots of this merger and gives up the others. A slot belongs to the
// merger whose hash of name and slot is the smallest. While mergers have different lists of each
// other, a slot can have two mergers, and each message goes to one of them; or none, and agents
// send to the asker.
func (g *Merger) divide(ctx context.Context) error {
	now := time.Now()
	for name, at := range g.mates {
		if now.Sub(at) > lostMate {
			delete(g.mates, name)
		}
	}
	for slot := range slots {
		mine := number(g.Name + "/" + strconv.Itoa(slot))
		first := true
		for name := range g.mates {
			first = first && number(name+"/"+strconv.Itoa(slot)) > mine
		}
		own, text := g.own[slot], strconv.Itoa(slot)
		switch {
		case first && own == nil:
			for _, subject := range []string{mergeSubject + text + ".*.*", sumsSubject + text + ".*"} {
				sub, err := g.nc.QueueSubscribe(subject, mergeQueue, func(m *nats.Msg) { g.hear(ctx, m) })
				if err != nil {
					return err
				}
				g.own[slot] = append(g.own[slot], sub)
			}
		case !first && own != nil:
			delete(g.own, slot)
			for _, sub := range own {
				if err := sub.Drain(); err != nil { // Drain still delivers messages that have been sent
					return err
				}
			}
		}
	}
	return nil
}

// hear receives a frame. Its sender is answered when the asker has counted it.
func (g *Merger) hear(ctx context.Context, m *nats.Msg) {
	it := &item{raw: m.Data, reply: m.Reply}
	words := strings.Split(m.Subject, ".")
	job := words[len(words)-1]
	if strings.HasPrefix(m.Subject, sumsSubject) {
		it.name, it.several = m.Header.Get(mergerHeader), true
	} else {
		it.name, job = nameOf(job), words[len(words)-2]
	}
	r, err := parseRoute(job, m.Header.Get(treeHeader))
	if err != nil || it.name == "" || namesFit("host", it.name) != nil || len(m.Data) > mergeable.MaxFrame {
		g.answer(m.Reply, FrameAnswer{Busy: true})
		return
	}
	sum := sha256.New()
	_, _ = sum.Write([]byte(r.job + "\x00" + it.name + "\x00"))
	_, _ = sum.Write(m.Data)
	sum.Sum(it.id[:0])
	if !g.hold(it) {
		return
	}
	dropped, _ := strconv.ParseUint(m.Header.Get(droppedHeader), 10, 64)
	f, err := it.decode(r.apart, dropped)
	if err == nil {
		err = g.gather(ctx, batchKey{job: r.job, route: m.Header.Get(treeHeader), script: f.Script,
			end: windowEnd(&r, f)}, &r, it, f)
	}
	if err != nil { // the sender sends it to the asker, which reports the error
		g.settle(it, FrameAnswer{Busy: true})
	}
}

// windowEnd returns the value that identifies the window of a frame: its end,
// or 0 if the whole run is one window.
func windowEnd(r *route, f *mergeable.Frame) int64 {
	if r.whole {
		return 0
	}
	return f.End
}

// hold stores a frame that arrived; false if it is refused or is here already. In the latter
// case the answer will go to the new reply subject.
func (g *Merger) hold(it *item) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if same := g.items[it.id]; same != nil {
		same.reply = it.reply
		return false
	}
	if g.over || g.bytes+it.cost() > g.Waiting {
		g.answer(it.reply, FrameAnswer{Busy: true})
		g.refused++
		return false
	}
	g.items[it.id] = it
	g.bytes += it.cost()
	return true
}

// cost returns the approximate memory of a waiting frame, in bytes.
func (it *item) cost() int64 { return int64(len(it.raw)) + 4<<10 }

// settle answers the sender of a frame and drops the frame.
func (g *Merger) settle(it *item, t FrameAnswer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.items, it.id)
	g.bytes -= it.cost()
	g.answer(it.reply, t)
}

// forget drops a frame without an answer. Its sender will send it again.
func (g *Merger) forget(it *item) {
	g.mu.Lock()
	it.reply = ""
	g.mu.Unlock()
	g.settle(it, FrameAnswer{})
}

func (g *Merger) answer(to string, t FrameAnswer) {
	if to != "" {
		_ = g.nc.Publish(to, must(t)) // on an error, the sender sends the frame again
	}
}

// ask sends a frame to the next level, and returns the answer; ok is false if there was
// none.
func (g *Merger) ask(ctx context.Context, r *route, data []byte) (t FrameAnswer, ok bool) {
	next, up := r.next()
	for end := time.Now().Add(giveUp); time.Now().Before(end) && ctx.Err() == nil; {
		m := nats.NewMsg(sumSubject + r.job)
		if up {
			m.Subject = next.subject(sumsSubject)
			m.Header.Set(treeHeader, next.header())
		}
		m.Header.Set(mergerHeader, g.Name)
		m.Data = data
		once, cancel := context.WithTimeout(ctx, ackTime)
		reply, err := g.nc.RequestMsgWithContext(once, m)
		cancel()
		t = FrameAnswer{}
		if err == nil {
			err = read(reply.Data, &t)
		}
		switch {
		case err == nil && !t.Busy:
			return t, true
		case up: // no merger above: send to the asker
			up = false
		case t.Busy:
			return t, false
		default:
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	return t, false
}

// sortShares sorts shares by host and number.
func sortShares(list []mergeable.Share) {
	slices.SortFunc(list, func(a, b mergeable.Share) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.Seq, b.Seq))
	})
}
