package cgroup

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// patience is how long a renderer waits for a name that is being looked up.
const patience = 300 * time.Millisecond

// mostNames bounds the names that are kept. When it is reached, all are dropped
// and looked up again as needed.
const mostNames = 1 << 13

// NameSources says where names are looked up. The zero value means the usual files and sockets of
// this machine.
type NameSources struct {
	// Root is the directory that contains the files and sockets, "/" if empty.
	Root string
	// CRI is the socket of the only runtime to ask. "" asks all; NoSocket asks none, so that
	// names come from files alone.
	CRI string
}

// NoSocket is the NameSources.CRI that asks no runtime.
const NoSocket = "no"

// Names finds the names of containers and pods by their ids. A goroutine of its own looks an
// id up as soon as it is seen, so that no event waits, and the name of a container is still
// known after its end.
type Names struct {
	sources NameSources
	// kubelet is the URL of the kubelet's read-only port.
	kubelet string
	// every is the shortest time between two requests for the same list.
	every time.Duration
	// answer is the longest time that a runtime may take to answer.
	answer time.Duration

	mu      sync.Mutex
	names   map[string]*pending // by the id of a container or a pod
	queue   chan string
	done    chan struct{}
	ctx     context.Context // of all requests
	cancel  func()
	listed  time.Time // when the sockets were asked last
	stopped bool
	stalls  stalls
}

// A pending is the look-up of one name. ready is closed when its first try has
// ended.
type pending struct {
	ready chan struct{}
	name  string // "" if nobody knows
	// tries counts look-ups without an answer. A later one may have it: the cgroup of a pod
	// is made before its runtime has a name for it.
	tries int
	next  time.Time // time of the next try; zero during a try
}

// mostTries bounds the look-ups of one name without an answer. The wait doubles after each.
const mostTries = 6

// OpenNames makes the Names of this machine. The caller closes them.
func OpenNames(a NameSources) *Names {
	n := &Names{
		sources: a,
		kubelet: "http://127.0.0.1:10255/pods",
		every:   askAgain,
		answer:  answerTime,
		names:   map[string]*pending{},
		queue:   make(chan string, 1024),
		done:    make(chan struct{}),
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	go n.work()
	return n
}

// Close ends the look-ups.
func (n *Names) Close() {
	n.mu.Lock()
	stopped := n.stopped
	n.stopped = true
	n.mu.Unlock()
	if !stopped {
		n.cancel()
		close(n.queue)
	}
	<-n.done
}

// See looks up the names of a cgroup's container and pod. It does not wait.
func (n *Names) See(f *Facts) {
	for _, id := range []string{f.Container, f.Pod} {
		if id != "" && !f.Unknown {
			n.want(id)
		}
	}
}

// want returns the look-up of id, and starts it if there is none; nil if the
// queue is full or Close was called.
func (n *Names) want(id string) *pending {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.names[id]; p != nil {
		n.again(id, p)
		return p
	}
	if n.stopped {
		return nil
	}
	if len(n.names) >= mostNames {
		clear(n.names)
	}
	p := &pending{ready: make(chan struct{})}
	select {
	case n.queue <- id:
		n.names[id] = p
	default:
		return nil // the queue is full; the name is asked for again when the id is shown
	}
	return p
}

// again queues another try for a name that was not found. The caller holds the
// lock.
func (n *Names) again(id string, p *pending) {
	if p.name != "" || p.next.IsZero() || p.tries >= mostTries || n.stopped || time.Now().Before(p.next) {
		return
	}
	select {
	case n.queue <- id:
		p.next = time.Time{}
	default:
	}
}

// work looks up the ids of the queue until Close.
func (n *Names) work() {
	defer close(n.done)
	for id := range n.queue {
		n.mu.Lock()
		p, stopped := n.names[id], n.stopped
		n.mu.Unlock()
		if p == nil {
			continue
		}
		name := ""
		if !stopped {
			if name = n.inFiles(id); name == "" {
				name = n.atSockets(id)
			}
		}
		n.settle(p, name)
	}
}

// settle ends a try with its name, or with "" if it was not found, which keeps
// a name found before.
func (n *Names) settle(p *pending, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name != "" {
		p.name = name
	} else {
		p.next = time.Now().Add(n.every << p.tries)
		p.tries++
	}
	select {
	case <-p.ready:
	default:
		close(p.ready)
	}
}

// Await waits until each name was looked up once, but no longer than most.
func (n *Names) Await(most time.Duration) {
	n.mu.Lock()
	all := slices.Collect(maps.Values(n.names))
	n.mu.Unlock()
	over := time.After(most)
	for _, p := range all {
		select {
		case <-p.ready:
		case <-over:
			return
		}
	}
}

// Name is the name of a container, or "NAMESPACE/NAME" of a pod; false if it is not found.
// It may wait for patience: call it when results are rendered, not for each event.
func (n *Names) Name(id string) (string, bool) {
	p := n.want(id)
	if p == nil {
		return "", false
	}
	select {
	case <-p.ready:
	default:
		timeout := time.NewTimer(patience)
		defer timeout.Stop()
		select {
		case <-p.ready:
		case <-timeout.C:
			return "", false
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return p.name, p.name != ""
}

// short is the number of digits of a container's id that are shown.
const short = 12

// Show is the text shown for a container or a pod: its name, else the first digits of its
// id.
func (n *Names) Show(id string) (string, bool) {
	if n != nil {
		if name, ok := n.Name(id); ok {
			return name, true
		}
	}
	if isID(id) {
		return id[:short], true
	}
	return "", false
}
