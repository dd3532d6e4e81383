package mcpserver

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"
)

// patientTransport also answers a client that writes its requests and then closes its end, as a
// shell script does. The library drops outstanding answers when the input ends, so the end of the
// input is held back until all requests are answered, or until the client no longer reads
// answers.
type patientTransport struct {
	mcp.Transport
	out   *os.File // where answers go
	leave func()   // ends the requests that still run
}

// Connect implements mcp.Transport.
func (t *patientTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &patientConn{Connection: c, of: t, answered: make(chan struct{}, 1)}, nil
}

type patientConn struct {
	mcp.Connection
	of *patientTransport

	mu       sync.Mutex
	open     int           // requests without an answer
	answered chan struct{} // has a value after a request got its answer
}

// Read implements mcp.Connection.
func (c *patientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.count(1)
	}
	if err == nil {
		return m, nil
	}
	for errors.Is(err, io.EOF) && c.count(0) > 0 && ctx.Err() == nil && !unread(c.of.out) {
		select {
		case <-c.answered:
		case <-time.After(100 * time.Millisecond): // check whether the client is still there
		case <-ctx.Done():
		}
	}
	c.of.leave()
	return m, err
}

// Write implements mcp.Connection.
func (c *patientConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.count(-1)
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}

// count adds n to the number of requests without an answer and returns it.
func (c *patientConn) count(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	return c.open
}

// unread reports that the reading end of the pipe f is closed.
func unread(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}} // POLLERR and POLLHUP are always reported
	n, err := unix.Poll(fds, 0)
	return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
}
