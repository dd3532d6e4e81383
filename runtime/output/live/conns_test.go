package live

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// dial opens a connection and sends a text.
func dial(t *testing.T, s *Server, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := fmt.Fprint(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// A client with the token is answered beside any number of connections of others: some say nothing, some
// not all, and some wait with a body that never comes.
func TestConnectionsOfOthersBlockNobody(t *testing.T) {
	s := serve(t, "127.0.0.1:0", "")
	defer s.Close()
	const host = "Host: localhost\r\n"
	for _, begun := range []string{"", "GET / HTTP/1.1\r\n" + host,
		"POST / HTTP/1.1\r\n" + host + "Content-Length: 1000\r\n\r\n",
		"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "Content-Length: 1000\r\n\r\n",
		"POST /?token=" + s.token + " HTTP/1.1\r\n" + host + "Content-Length: 9\r\n\r\n"} {
		for range 2 * maxConns {
			dial(t, s, begun)
		}
		client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}
		begin := time.Now()
		a, err := client.Get(s.URL("/api/v1/run"))
		if err != nil {
			t.Fatalf("%.30q: %v", begun, err)
		}
		a.Body.Close()
		client.CloseIdleConnections()
		if took := time.Since(begin); a.StatusCode != 200 || took >= requestTime {
			t.Errorf("%.30q: got %d after %s", begun, a.StatusCode, took)
		}
	}
}

// A refused client is not waited for: the connection is closed, whatever else was to come.
func TestWhoIsRefusedIsClosed(t *testing.T) {
	s := serve(t, "127.0.0.1:0", "")
	defer s.Close()
	for request, want := range map[string]string{
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n":                    "401",
		"POST /?token=" + s.token + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n": "405",
		"GET /?token=" + s.token + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n":  "400",
		"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                          "421",
	} {
		c := dial(t, s, request)
		_ = c.SetReadDeadline(time.Now().Add(requestTime))
		r := bufio.NewReader(c)
		line, err := r.ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Errorf("%.60q: got %q, %v, want %s", request, line, err, want)
		}
		for err == nil {
			_, err = r.ReadString('\n')
		}
		if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Errorf("%.60q: the connection is still open", request)
		}
	}
}

// TestPagesLeaveRoomForScrapes checks that pages that follow a run leave room for other clients
// that have the token too.
func TestPagesLeaveRoomForScrapes(t *testing.T) {
	s := serve(t, "127.0.0.1:0", "")
	answers := map[string]int{}
	for range 2 * maxConns {
		c := dial(t, s, "GET /api/v1/events?token="+s.token+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		answers[strings.Fields(line)[1]]++
	}
	if answers["200"] != maxFollowers || answers["503"] != 2*maxConns-maxFollowers {
		t.Errorf("got %v, want %d that follow", answers, maxFollowers)
	}
	if status, _ := get(t, s.URL("/api/v1/run"), nil); status != 200 {
		t.Errorf("beside them: got %d", status)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A token that lasts is not shown; one of a run is.
func TestTokensThatLastAreNotShown(t *testing.T) {
	const lasts = "0123456789abcdef0123456789abcdef"
	s := serve(t, "127.0.0.1:0", lasts)
	defer s.Close()
	if hint := s.Hint(); strings.Contains(hint, lasts) || !strings.Contains(hint, "--http-token") {
		t.Errorf("got %q", hint)
	}
	own := serve(t, "127.0.0.1:0", "")
	defer own.Close()
	if hint := own.Hint(); !strings.Contains(hint, own.token) {
		t.Errorf("got %q, want the token %s", hint, own.token)
	}
}
