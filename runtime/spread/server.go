package spread

import (
	"bufio"
	"crypto/subtle"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/diag"
)

// A server sends to everybody who connects.
type server struct {
	ln      net.Listener
	sender  *Sender
	mu      sync.Mutex
	clients map[*client]bool
	gone    uint64 // lost by clients that have left
	closed  bool
	work    sync.WaitGroup
}

type client struct {
	conn net.Conn
	q    *queue
}

// Times that a client may take.
const (
	tokenTime = 5 * time.Second
	drainTime = 2 * time.Second
)

// maxClients bounds who is served at once.
const maxClients = 64

func listen(a address, s *Sender) (*server, error) {
	var ln net.Listener
	var err error
	switch a.kind {
	case vsock:
		ln, err = listenVsock(a)
	case unixSocket:
		ln, err = listenUnix(a.path)
	default:
		ln, err = net.Listen("tcp", a.join("127.0.0.1"))
	}
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, diag.Errorf(diag.Run, "push", a.text, "%w", err).WithHint("is another program listening there? give another address")
	}
	v := &server{ln: ln, sender: s, clients: map[*client]bool{}}
	s.opt.Say("push: listening at %s", ln.Addr())
	v.work.Go(v.accept)
	return v, nil
}

// listenUnix listens at a path, for this user only. What a sender left there that
// was killed is in the way of nobody.
func listenUnix(path string) (net.Listener, error) {
	if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
		conn, err := net.Dial("unix", path)
		switch {
		case err == nil:
			return nil, errors.Join(unix.EADDRINUSE, conn.Close())
		case errors.Is(err, unix.ECONNREFUSED):
			if err := os.Remove(path); err != nil {
				return nil, err
			}
		}
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

func (v *server) accept() {
	for {
		conn, err := v.ln.Accept()
		if err != nil {
			return // closed
		}
		v.work.Go(func() { v.serve(conn) })
	}
}

func (v *server) serve(conn net.Conn) {
	defer conn.Close()
	say := v.sender.opt.Say
	if !v.admit(conn) {
		say("push: %s does not know the token", nameOf(conn))
		return
	}
	c := &client{conn, newQueue(v.sender)}
	v.mu.Lock()
	if v.closed || len(v.clients) >= maxClients {
		v.mu.Unlock()
		return
	}
	v.clients[c] = true
	v.sender.fresh.Store(true)
	v.mu.Unlock()
	say("push: %s connected", nameOf(conn))
	for b := c.q.take(); b != nil; b = c.q.take() {
		if _, err := conn.Write(b); err != nil {
			break
		}
	}
	c.q.close()
	v.mu.Lock()
	delete(v.clients, c)
	v.gone += c.q.dropped()
	v.mu.Unlock()
	say("push: %s hung up", nameOf(conn))
}

// nameOf is who connected; at a unix socket receivers have no names.
func nameOf(conn net.Conn) string {
	if a := conn.RemoteAddr().String(); a != "" && a != "@" {
		return a
	}
	return "a receiver at " + conn.LocalAddr().String()
}

// admit reads the token, if there is one to know.
func (v *server) admit(conn net.Conn) bool {
	token := v.sender.opt.Token
	if token == "" {
		return true
	}
	_ = conn.SetReadDeadline(time.Now().Add(tokenTime))
	line, err := bufio.NewReaderSize(conn, 1024).ReadSlice('\n')
	return err == nil && subtle.ConstantTimeCompare([]byte(strings.TrimSuffix(string(line), "\n")), []byte(token)) == 1
}

func (v *server) send(p *piece) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for c := range v.clients {
		c.q.put(p)
	}
	return nil
}

func (v *server) lost() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := v.gone
	for c := range v.clients {
		n += c.q.dropped()
	}
	return n
}

// close lets clients take what is left for a while.
func (v *server) close() error {
	err := v.ln.Close()
	v.mu.Lock()
	v.closed = true
	for c := range v.clients {
		_ = c.conn.SetWriteDeadline(time.Now().Add(drainTime))
		c.q.close()
	}
	v.mu.Unlock()
	v.work.Wait()
	return err
}
