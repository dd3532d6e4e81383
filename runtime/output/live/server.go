package live

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"ppscript/runtime/output"
	"ppscript/runtime/source/relay"
	"ppscript/runtime/text/diag"
)

// This file has the server of --http: its address, its access control, and its end.

const (
	// maxConns bounds the connections. maxFollowers bounds the connections that follow the state of
	// the run, so that some remain for other requests.
	maxConns     = 64
	maxFollowers = maxConns / 2
	// requestTime is the longest time for receiving a request.
	requestTime = 5 * time.Second
	// writeTime is the longest time for sending an answer.
	writeTime = 30 * time.Second
	// lingerTime is the longest time in which open pages can fetch the last results at the
	// end of a run.
	lingerTime = 2 * time.Second
	// unixPrefix is the prefix of an address that is the path of a Unix socket.
	unixPrefix = "unix:"
)

// A Server serves the results of one run at an address. It is the sink of --http.
type Server struct {
	*Store
	address      string
	token        string
	lastingToken bool // the token was given by the user: it outlives the run and is not printed
	mux          *http.ServeMux

	host string // the host in the user's address, if it is a name
	ln   net.Listener
	http http.Server
	done chan error

	watching watching
}

// NewServer makes a server for an address: HOST:PORT, a port of this machine, or unix:PATH. Clients
// need the token; "" makes a random one. The server listens when its Opener is opened.
func NewServer(address, token string) *Server {
	s := NewPlain(address, token)
	s.routes()
	return s
}

// NewPlain makes a server without a page. It serves only the paths that are added
// by Handle.
func NewPlain(address, token string) *Server {
	return &Server{Store: NewStore(time.Now), address: address, token: token, mux: http.NewServeMux(),
		done: make(chan error, 1), watching: watching{finished: make(chan struct{})}}
}

// Handle adds a handler for a path, such as /metrics, for clients with the token. Other
// outputs call it before the server is opened.
func (s *Server) Handle(path string, h http.Handler) { s.mux.Handle(path, h) }

// Opener returns the Opener of option --http. say prints the address of the page for the
// user.
func (s *Server) Opener(say func(line string)) output.Opener {
	open := func(ctx context.Context) (output.Sink, error) {
		if err := s.Listen(ctx); err != nil {
			return nil, err
		}
		say(s.Hint())
		return s, nil
	}
	return output.Opener{Option: "http", Where: s.address, Open: open}
}

// Listen starts the server.
func (s *Server) Listen(ctx context.Context) error {
	if err := s.listen(ctx); err != nil {
		return diag.Errorf(diag.Usage, "listen", s.address, "%w", reason(err)).WithHint("%s", hintFor(err))
	}
	if s.lastingToken = s.token != ""; s.token == "" && !s.private() {
		var random [16]byte
		rand.Read(random[:]) // never fails
		s.token = hex.EncodeToString(random[:])
	}
	s.http = http.Server{
		Handler: http.HandlerFunc(s.admit), MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: requestTime, IdleTimeout: 2 * time.Minute,
		ErrorLog:    silent(),
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ConnState: func(c net.Conn, is http.ConnState) {
			if is == http.StateIdle {
				c.(*boundedConn).needed(false)
			}
		},
	}
	go func() { s.done <- s.http.Serve(newBounded(s.ln, maxConns)) }()
	return nil
}

func (s *Server) listen(ctx context.Context) (err error) {
	if path, ok := strings.CutPrefix(s.address, unixPrefix); ok {
		s.ln, err = relay.ListenUnix(ctx, path)
		return err
	}
	host, port, err := net.SplitHostPort(s.address)
	if err != nil {
		if strings.Trim(s.address, "0123456789") != "" || s.address == "" {
			return errAddress
		}
		host, port = "", s.address
	}
	if host == "" {
		host = "127.0.0.1" // other machines can connect only if the user gives an address
	}
	if net.ParseIP(host) == nil {
		s.host = host
	}
	s.ln, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	return err
}

var errAddress = errors.New("not an address")

func reason(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return diag.Reason(err)
}

func hintFor(err error) string {
	switch {
	case errors.Is(err, errAddress):
		return "write --http 127.0.0.1:8080, --http 8080, or --http unix:PATH"
	case errors.Is(err, syscall.EADDRINUSE):
		return "another program listens there: choose another port, or any free one: --http 127.0.0.1:0"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "give an address of this machine, or 0.0.0.0:PORT for all of its addresses"
	case errors.Is(err, syscall.EACCES):
		return "choose a port above 1023, or a directory that you may write to"
	}
	return "write --http 127.0.0.1:8080, or --http unix:PATH"
}

// private reports whether the server listens on a Unix socket, whose file permissions are the
// access control.
func (s *Server) private() bool { return s.ln.Addr().Network() == "unix" }

// Hint returns a line with the address of the page. It includes a random token, but not a token of
// the user, which would stay in logs.
func (s *Server) Hint() string {
	if s.private() {
		path := strings.TrimPrefix(s.address, unixPrefix)
		return "live page: curl --unix-socket " + path + " http://localhost/api/v1/latest"
	}
	url := s.URL("/")
	if s.lastingToken {
		bare, _, _ := strings.Cut(url, "?")
		return "live page: " + bare + "?token=..., which is the text of the file of --http-token"
	}
	return "live page: " + url
}

// URL returns the address of a path, including the token.
func (s *Server) URL(path string) string {
	host, port, _ := net.SplitHostPort(s.ln.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if host = "127.0.0.1"; s.host == "" {
			if name, err := os.Hostname(); err == nil {
				host = name
			}
		}
	} else if s.host != "" {
		host = s.host
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: path}
	return u.String() + "?token=" + url.QueryEscape(s.token)
}

// admit answers requests that have the token and are for a name of this server.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	refuse := func(text string, status int) {
		// The rest of the request is not waited for.
		h.Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(requestTime))
		http.Error(w, text, status)
	}
	switch {
	case !s.named(r.Host):
		refuse("not a name of this server: use the address that ppscript printed",
			http.StatusMisdirectedRequest)
	case !s.knows(r):
		refuse("the token is missing or wrong: use the address that ppscript printed, with its token",
			http.StatusUnauthorized)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		refuse("nothing can be changed here: only GET is answered", http.StatusMethodNotAllowed)
	case r.ContentLength != 0:
		refuse("a request has no body here", http.StatusBadRequest)
	default:
		if c, ok := r.Context().Value(connKey{}).(*boundedConn); ok {
			c.needed(true)
		}
		// follow sets a new deadline for each state.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
		s.mux.ServeHTTP(w, r)
	}
}

// named reports whether a request's Host is localhost, an IP address, or a name of this
// machine. That protects against DNS rebinding: a malicious page can make its own host name
// resolve to this machine, but requests of the page then have that name as Host. It is also
// checked on a Unix socket, since ssh may forward a port of another machine to it.
func (s *Server) named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" || net.ParseIP(host) != nil || s.host != "" && host == strings.ToLower(s.host) {
		return true
	}
	name, err := os.Hostname()
	return err == nil && host == strings.ToLower(name)
}

// knows reports whether a request has the token: as a parameter of the address, or as a
// bearer token.
func (s *Server) knows(r *http.Request) bool {
	if s.private() {
		return true
	}
	given := r.URL.Query().Get("token")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		given = bearer
	}
	return subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1
}

// Close implements output.Sink: open pages can fetch the last results before the server
// stops.
func (s *Server) Close() error {
	err := s.Store.End()
	select {
	case <-s.watching.end():
	case <-time.After(lingerTime):
	}
	err = errors.Join(err, s.http.Close())
	if e := <-s.done; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	<-s.watching.finished
	return err
}

// watching counts the pages that follow the state of the run.
type watching struct {
	mu       sync.Mutex
	n        int
	ended    bool
	finished chan struct{} // closed when the run has ended and the last page has disconnected
}

// add changes the number of pages by n; it returns false if there are too many.
func (w *watching) add(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 && w.n >= maxFollowers {
		return false
	}
	if w.n += n; w.n == 0 && w.ended {
		w.close()
	}
	return true
}

// end marks the end of the run, and returns a channel that is closed when the
// last page has disconnected.
func (w *watching) end() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended = true; w.n == 0 {
		w.close()
	}
	return w.finished
}

// close closes finished, unless it is closed already. The caller holds the lock.
func (w *watching) close() {
	select {
	case <-w.finished:
	default:
		close(w.finished)
	}
}
