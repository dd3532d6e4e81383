package live

import (
	"net"
	"slices"
	"sync"
)

// This file bounds the connections of a server. Any client of the port can open as many as there may be,
// and say nothing. So a connection that comes when there are too many takes the place of the one that is
// idle for longest: which has not shown the token yet, or has had its answer. A client with the token is
// held up for no longer than a request takes to come. (Bounds for each address would help nobody: users
// of one machine have the same one.)

// connKey finds the connection of a request.
type connKey struct{}

// boundedListener is a listener with a bound on its connections.
type boundedListener struct {
	net.Listener
	most int

	mu    sync.Mutex
	room  *sync.Cond
	conns []*boundedConn // the longest idle first
}

func newBounded(l net.Listener, most int) *boundedListener {
	b := &boundedListener{Listener: l, most: most}
	b.room = sync.NewCond(&b.mu)
	return b
}

// Accept implements net.Listener. It waits while all connections have answers under way.
func (b *boundedListener) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	own := &boundedConn{Conn: c, of: b}
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.conns) >= b.most {
		i := slices.IndexFunc(b.conns, func(c *boundedConn) bool { return !c.busy })
		if i < 0 {
			b.room.Wait()
			continue
		}
		_ = b.conns[i].Conn.Close() // its server hears of it, and closes it once more
		b.conns = slices.Delete(b.conns, i, i+1)
	}
	b.conns = append(b.conns, own)
	return own, nil
}

// boundedConn is an open connection of a boundedListener.
type boundedConn struct {
	net.Conn
	of   *boundedListener
	busy bool // an answer is under way
}

// needed says whether a connection has an answer under way, for a client that has the token.
func (c *boundedConn) needed(busy bool) {
	b := c.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.conns, c); i >= 0 {
		b.conns = append(slices.Delete(b.conns, i, i+1), c)
	}
	c.busy = busy
	b.room.Broadcast()
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	b := c.of
	b.mu.Lock()
	if i := slices.Index(b.conns, c); i >= 0 {
		b.conns = slices.Delete(b.conns, i, i+1)
	}
	b.room.Broadcast()
	b.mu.Unlock()
	return c.Conn.Close()
}
