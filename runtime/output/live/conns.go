package live

import (
	"net"
	"slices"
	"sync"
)

// This file bounds the connections of a server. Any client of the port could open all allowed
// connections and send nothing. So if there are too many, a new connection replaces the connection
// that has been idle longest: one that has not sent the token yet, or whose last request was
// answered. A client with the token waits no longer than a request takes to arrive. (Bounds per
// address would not help, since users of one machine share its address.)

// connKey is the key of a request's connection in its context.
type connKey struct{}

// boundedListener is a listener with a bound on its connections.
type boundedListener struct {
	net.Listener
	most int

	mu    sync.Mutex
	room  *sync.Cond
	conns []*boundedConn // the connection that has been idle longest comes first
}

func newBounded(l net.Listener, most int) *boundedListener {
	b := &boundedListener{Listener: l, most: most}
	b.room = sync.NewCond(&b.mu)
	return b
}

// Accept implements net.Listener. It waits while all connections are busy.
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
		_ = b.conns[i].Conn.Close() // its reader gets an error, and closes it again
		b.conns = slices.Delete(b.conns, i, i+1)
	}
	b.conns = append(b.conns, own)
	return own, nil
}

// boundedConn is an open connection of a boundedListener.
type boundedConn struct {
	net.Conn
	of   *boundedListener
	busy bool // a request is being answered
}

// needed marks whether a request of a client with the token is being answered.
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
