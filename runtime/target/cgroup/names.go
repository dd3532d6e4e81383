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

// mostNames bounds the names that are kept; beyond it all are looked up anew.
const mostNames = 1 << 13

// NameSources lists the runtimes that give names. The zero value is the usual ones on this machine.
type NameSources struct {
	// Root is the directory below which files and sockets are, "/" if empty.
	Root string
	// CRI is the socket of a runtime that is asked in place of all others. NoSocket asks none:
	// names are those that files tell.
	CRI string
}

// NoSocket is an Asked.CRI that asks nobody.
const NoSocket = "no"

// Names has the names of containers and pods, by their ids. They are looked up by a goroutine
// of their own as soon as an id is seen, so that they are known after the container is
// gone, and no event waits for them.
type Names struct {
	sources NameSources
	// kubelet is the address of its read-only port.
	kubelet string
	// every is how often the same is asked for at most.
	every time.Duration
	// answer bounds how long each may take to answer.
	answer time.Duration

	mu      sync.Mutex
	names   map[string]*pending // by id of a container or a pod
	queue   chan string
	done    chan struct{}
	ctx     context.Context // of what is asked
	cancel  func()
	listed  time.Time // when the sockets were asked last
	stopped bool
	stalls  stalls
}

// A pending name is known when ready is closed.
type pending struct {
	ready chan struct{}
	name  string // "" if nobody knows
	// A runtime may know the name later: a pod has its cgroup before its runtime hears of it.
	tries int
	next  time.Time // of the next try; zero while one is under way
}

// mostTries is how often a name is looked up that nobody knows, each time after twice as long.
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

// want is the name of id, which is looked up if it was not yet.
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
		return nil // too many at once; who shows the id asks again
	}
	return p
}

// again has a name looked up once more that nobody knew, under the lock.
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

// work looks up what is wanted.
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

// settle makes a name known; "" leaves one that is known already.
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

// Await waits until all that was asked for is known, or known to nobody, but no longer than a time.
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

// Name is the name of a container, or "NAMESPACE/NAME" of a pod; false if nobody tells it.
// It may wait a moment: renderers call it, nothing calls it for each event.
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

// short is how many digits of a container's id people read.
const short = 12

// Show is a container or a pod as people read it: by its name, else by the first digits of
// its id.
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
