package push

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"ppscript/runtime/text/diag"
)

// A server answers with the next of a list of statuses, the last one for ever, and keeps what
// it took.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	requests int
	took     []string
}

func serve(t *testing.T, statuses ...int) *server {
	s := &server{statuses: statuses}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		status := s.statuses[min(s.requests, len(s.statuses)-1)]
		if s.requests++; status == http.StatusOK {
			s.took = append(s.took, string(body))
		}
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "because\n\x1b of it")
	}))
	t.Cleanup(s.Close)
	return s
}

// lines are messages of a sender.
type lines struct {
	mu   sync.Mutex
	list []string
}

func (l *lines) say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, line)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.list, "\n")
}

func sender(said *lines) *Sender {
	return New(Options{Option: "otlp", Where: "there", Say: said.say, pause: time.Millisecond})
}

// A server that is away for a time gets all messages, in order.
func TestRetries(t *testing.T) {
	srv, said := serve(t, 503, 429, 502, 200), &lines{}
	s := sender(said)
	for _, body := range []string{"one", "two", "three"} {
		s.Send(Message{URL: srv.URL, Body: []byte(body)})
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got, want := strings.Join(srv.took, " "), "one two three"; got != want {
		t.Errorf("took %q, want %q", got, want)
	}
	want := Stats{Sent: 3, Retries: 3, Accepted: 3}
	if got := s.Stats(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := said.text(),
		"--otlp there: the server answers 503 Service Unavailable: because \\x1b of it; it is "+
			"tried again for up to 5m0s\n--otlp there: the server answers again"; got != want {
		t.Errorf("said\n%s\nwant\n%s", got, want)
	}
}

// What a server refuses is not sent again, is told once, and is in the error at the end.
func TestRefusedIsToldOnce(t *testing.T) {
	srv, said := serve(t, 400), &lines{}
	s := sender(said)
	for range 3 {
		s.Send(Message{URL: srv.URL, Body: []byte("x")})
	}
	err := s.Close()
	var d *diag.Error
	if !errors.As(err, &d) || d.Class != diag.Run ||
		!strings.Contains(err.Error(), "3 of 3 messages did not arrive: the server answers 400") {
		t.Errorf("got %v, want an error of the run about 3 messages", err)
	}
	if srv.requests != 3 || strings.Count(said.text(), "\n") != 0 || !strings.Contains(said.text(),
		"400 Bad Request") {
		t.Errorf("asked %d times and said %q; want 3 times, one line", srv.requests, said.text())
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// A server that is never there does not keep the run from its end.
func TestAwayAtTheEnd(t *testing.T) {
	srv, said := serve(t, 503), &lines{}
	s := sender(said)
	s.stop() // as the end does after some seconds
	for range 3 {
		s.Send(Message{URL: srv.URL, Body: []byte("x")})
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "3 of 3 messages did not arrive") {
		t.Errorf("got %v, want an error about 3 messages", err)
	}
	if got := s.Stats(); got.GivenUp != 3 || got.Waiting != 0 {
		t.Errorf("got %+v, want 3 given up", got)
	}
}

// What waits is bounded: the oldest messages go, and are counted.
func TestQueueIsBounded(t *testing.T) {
	answer, asked := make(chan bool), make(chan bool, 100)
	var took []byte
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- true
		<-answer
		took = append(took, body[0])
	}))
	defer srv.Close()
	said := &lines{}
	s := sender(said)
	send := func(name byte) {
		body := make([]byte, MostBytes/4)
		body[0] = name
		s.Send(Message{URL: srv.URL, Body: body})
	}
	send('a')
	<-asked // from here on it has one in its hands
	for name := byte('b'); name <= 'h'; name++ {
		send(name)
	}
	close(answer)
	if err := s.Close(); err == nil || !strings.Contains(err.Error(),
		"3 of 8 messages did not arrive: more than 16 MiB") {
		t.Errorf("got %v, want 3 of 8", err)
	}
	if got, want := string(took), "aefgh"; got != want {
		t.Errorf("took %s, want %s", got, want)
	}
	if got := said.text(); strings.Count(got, "wait for more than 16 MiB") != 1 {
		t.Errorf("said %q, want it once", got)
	}
}

// A part that is refused is an error at the end, too.
func TestPartialSuccess(t *testing.T) {
	srv, said := serve(t, 200), &lines{}
	s := New(Options{Option: "otlp", Where: "there", Say: said.say,
		Accepted: func([]byte) (int64, string) { return 7, "too old" }})
	s.Send(Message{URL: srv.URL})
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "7 values were refused") {
		t.Errorf("got %v, want 7 values", err)
	}
	if !strings.Contains(said.text(), "too old") {
		t.Errorf("said %q", said.text())
	}
}

func TestAddressAndHeader(t *testing.T) {
	if u, shown, err := Address("otlp", "https://me:secret@host:4318/x"); err != nil ||
		u.Host != "host:4318" ||
		strings.Contains(shown, "secret") {
		t.Errorf("got %v, %s, %v", u, shown, err)
	}
	for _, bad := range []string{"host:4318", "ftp://host", "http://", "http://a b"} {
		if _, _, err := Address("otlp", bad); err == nil {
			t.Errorf("%s: got no error", bad)
		}
	}
	if h, err := Header("authorization=Bearer%20x, b=c,"); err != nil ||
		h.Get("Authorization") != "Bearer x" || h.Get("b") != "c" {
		t.Errorf("got %v, %v", h, err)
	}
	for _, bad := range []string{"x", "=y", "a=%zz", "a=b%0ac"} {
		if _, err := Header(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}
