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

// This file is the server of --http: where it listens, whom it lets in, and how it ends.

const (
	// maxConns bounds the connections, maxFollowers those of them that are told how far the run is, so that
	// others are answered beside pages.
	maxConns     = 64
	maxFollowers = maxConns / 2
	// requestTime is how long a request may take to come.
	requestTime = 5 * time.Second
	// writeTime is how long a reader may take for an answer.
	writeTime = 30 * time.Second
	// lingerTime is how long, at the end of a run, pages that are open may take to fetch the
	// last results.
	lingerTime = 2 * time.Second
	// unixPrefix begins an address that is a path.
	unixPrefix = "unix:"
)

// A Server serves the results of one run at an address. It is the sink of --http.
type Server struct {
	*Store
	address      string
	token        string
	lastingToken bool // the token lasts for longer than the run: nobody is shown it
	mux          *http.ServeMux

	host string // that the user named in the address, if it is no number
	ln   net.Listener
	http http.Server
	done chan error

	watching watching
}

// NewServer makes a server for an address: HOST:PORT, a port of this machine, unix:PATH. A client with the
// token is let in; "" makes one up. It listens once it is opened.
func NewServer(address, token string) *Server {
	s := NewPlain(address, token)
	s.routes()
	return s
}

// NewPlain makes a server without a page, which serves what others have it handle.
func NewPlain(address, token string) *Server {
	return &Server{Store: NewStore(time.Now), address: address, token: token, mux: http.NewServeMux(),
		done: make(chan error, 1), watching: watching{finished: make(chan struct{})}}
}

// Handle has a handler serve a path, such as /metrics, to clients with the token. It is for
// other outputs, before the server is opened.
func (s *Server) Handle(path string, h http.Handler) { s.mux.Handle(path, h) }

// Opener is the option that asks for the server. say tells the user the address of the page.
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

// Listen begins to serve.
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
		host = "127.0.0.1" // others are let in only if the user says so
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
		return "somebody listens there: choose another, or any that is free: --http 127.0.0.1:0"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "give an address of this machine, or 0.0.0.0:PORT for all that it has"
	case errors.Is(err, syscall.EACCES):
		return "choose a port above 1023, or a directory that you may write to"
	}
	return "write --http 127.0.0.1:8080, or --http unix:PATH"
}

// private says that the kernel lets in only permitted users: the socket is a file of our own.
func (s *Server) private() bool { return s.ln.Addr().Network() == "unix" }

// Hint tells where the page is. The token is part of it if it was made up for this run; one that lasts
// would stay in logs.
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

// URL is the address of a path, with the token.
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

// admit lets in clients with the token, under a name that is ours.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	refuse := func(text string, status int) {
		// What else comes, or does not, is not waited for.
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
		// The stream of states sets its own, for each of them.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
		s.mux.ServeHTTP(w, r)
	}
}

// named reports that a request's Host is ours. A page from elsewhere whose name was made to
// lead here has that name; it cannot have a number, nor one that the machine has.
// That counts behind a socket, too, which ssh may have made a port of another machine.
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

// knows reports that a request has the token: as a parameter, which a browser's address
// has, or as programs have it.
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

// Close implements output.Sink: pages that are open get the last results, then nobody is
// served any more.
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

// watching counts the pages that are told how far the run is.
type watching struct {
	mu       sync.Mutex
	n        int
	ended    bool
	finished chan struct{} // closed when the run has ended, and the last page is gone
}

// add is false if there are too many.
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

// end returns what tells that the last page is gone.
func (w *watching) end() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended = true; w.n == 0 {
		w.close()
	}
	return w.finished
}

// close is called with the lock held; a page that comes after the last was gone goes, too.
func (w *watching) close() {
	select {
	case <-w.finished:
	default:
		close(w.finished)
	}
}
