// Package push sends results to servers by HTTP in the background of a run. Messages wait in
// a bounded queue, and are retried for some time while the server is unavailable. Failed
// messages are counted and reported, and are part of the error at the end. The package does
// not depend on the contents of messages.
package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// Bounds for waiting messages.
const (
	// MostBytes bounds the memory of all waiting messages; the oldest are
	// dropped first.
	MostBytes = 16 << 20
	// patience is the time for which a message is retried.
	patience = 5 * time.Minute
	// tryTime bounds one try.
	tryTime = 10 * time.Second
	// endTime is the time for sending waiting messages at the end of the run. It is
	// below the five seconds without progress after which a run is aborted.
	endTime = 4 * time.Second

	firstPause, longestPause = 500 * time.Millisecond, 30 * time.Second
)

// A Message is a request to a server.
type Message struct {
	URL         string
	ContentType string
	Encoding    string // Content-Encoding: gzip; "" is none
	Body        []byte
}

// Options are the options of a Sender.
type Options struct {
	Option string // name of the command-line option for the server, such as otlp; shown in messages
	Where  string // the server's URL in messages, without secrets
	Header http.Header
	Say    func(line string)
	// Accepted reads the answer to a delivered message, since servers can refuse a part of
	// it. It returns how many values were refused, and why. nil if that cannot happen.
	Accepted func(body []byte) (refused int64, why string)

	pause time.Duration // the first pause before a retry; 0 is firstPause
}

// A Sender sends messages to a server, in order. Only one goroutine at a time may call Send,
// Stats or Close.
type Sender struct {
	o      Options
	client *http.Client
	wake   chan struct{}
	ending chan struct{}
	done   chan struct{}
	stop   context.CancelFunc

	mu        sync.Mutex
	waiting   []waiting
	bytes     int
	stats     Stats
	why       error // the error of the newest message that failed
	announced map[string]bool
	away      bool // the last try failed for a temporary reason
}

type waiting struct {
	Message
	since time.Time
}

// Stats counts messages by outcome.
type Stats struct {
	Sent     uint64
	Refused  uint64 // refused by the server
	GivenUp  uint64 // the server was unavailable for too long, or the queue was full
	Retries  uint64
	Partial  uint64 // values that the server refused in accepted messages
	Waiting  int
	Accepted uint64 // passed to Send
}

// New starts a Sender.
func New(o Options) *Sender {
	if o.pause == 0 {
		o.pause = firstPause
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Sender{
		o:         o,
		client:    &http.Client{Timeout: tryTime},
		wake:      make(chan struct{}, 1),
		ending:    make(chan struct{}),
		done:      make(chan struct{}),
		stop:      stop,
		announced: map[string]bool{},
	}
	go s.loop(ctx)
	return s
}

// Send queues a message, without waiting. The body belongs to the Sender from then on.
func (s *Sender) Send(m Message) {
	s.mu.Lock()
	s.stats.Accepted++
	s.waiting = append(s.waiting, waiting{m, time.Now()})
	s.bytes += len(m.Body)
	full := 0
	for s.bytes > MostBytes {
		full++
		s.stats.GivenUp++
		s.bytes -= len(s.waiting[0].Body)
		s.waiting = s.waiting[1:]
	}
	if full > 0 && s.why == nil {
		s.why = fmt.Errorf("more than %d MiB waited for it", MostBytes>>20)
	}
	s.mu.Unlock()
	if full > 0 {
		s.tell("full", "messages wait for more than %d MiB: the oldest are left out", MostBytes>>20)
	}
	select {
	case s.wake <- struct{}{}:
	default: // the loop is already being woken
	}
}

// Stats returns the counts so far.
func (s *Sender) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Waiting = len(s.waiting)
	return st
}

// loop sends waiting messages.
func (s *Sender) loop(ctx context.Context) {
	defer close(s.done)
	ending := s.ending
	for {
		s.mu.Lock()
		var m waiting
		some := len(s.waiting) > 0
		if some {
			m = s.waiting[0]
			s.waiting = s.waiting[1:]
			s.bytes -= len(m.Body)
		}
		s.mu.Unlock()
		if some {
			s.deliver(ctx, m)
			continue
		}
		if ending == nil || ctx.Err() != nil {
			return
		}
		select {
		case <-s.wake:
		case <-ending:
			ending = nil // waiting messages are still sent
		}
	}
}

// deliver tries a message until it arrives, is refused, or is too old.
func (s *Sender) deliver(ctx context.Context, m waiting) {
	pause := s.o.pause
	for {
		again, after, err := s.try(ctx, &m.Message)
		if err == nil {
			s.mu.Lock()
			s.stats.Sent++
			back := s.away
			s.away = false
			s.mu.Unlock()
			if back {
				s.say("the server answers again")
			}
			return
		}
		over := ctx.Err() != nil || time.Since(m.since) > patience
		s.mu.Lock()
		switch {
		case !again:
			s.stats.Refused++
			s.why = err
		case over:
			s.stats.GivenUp++
			if ctx.Err() == nil || s.why == nil {
				s.why = err
			}
		default:
			s.stats.Retries++
			s.why = err
		}
		first := again && !s.away
		s.away = s.away || again
		s.mu.Unlock()
		switch {
		case !again:
			s.tell(err.Error(), "%v; the server is not asked again about this message", err)
			return
		case over:
			return
		case first:
			s.say("%v; it is tried again for up to %s", err, patience)
		}
		select {
		case <-time.After(max(pause, after)):
		case <-ctx.Done():
		}
		pause = min(2*pause, longestPause)
	}
}

// try sends a message once. again says that a retry may succeed; after is the pause that
// the server asked for.
func (s *Sender) try(ctx context.Context, m *Message) (again bool, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return false, 0, err
	}
	for name, values := range s.o.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", m.ContentType)
	req.Header.Set("User-Agent", "ppscript")
	if m.Encoding != "" {
		req.Header.Set("Content-Encoding", m.Encoding)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		if u := new(url.Error); errors.As(err, &u) {
			err = u.Err // the text of url.Error has the URL with its secrets
		}
		return true, 0, err
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection can be reused
	if resp.StatusCode/100 == 2 {
		s.partly(body)
		return false, 0, nil
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		after = min(time.Duration(seconds)*time.Second, longestPause)
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, after, fmt.Errorf("the server answers %s%s", resp.Status, reason(resp.Header, body))
}

// partly counts and reports the values that a server refused in a delivered
// message.
func (s *Sender) partly(body []byte) {
	if s.o.Accepted == nil {
		return
	}
	n, why := s.o.Accepted(body)
	if n <= 0 {
		return
	}
	err := fmt.Errorf("the server refused a part: %s", line([]byte(why)))
	s.mu.Lock()
	s.stats.Partial += uint64(n)
	s.why = err
	s.mu.Unlock()
	s.tell(err.Error(), "%v", err)
}

// reason returns the server's message about an error, if it is text.
func reason(h http.Header, body []byte) string {
	kind := h.Get("Content-Type")
	if !strings.HasPrefix(kind, "text/plain") && !strings.HasPrefix(kind, "application/json") {
		return ""
	}
	if text := line(body); text != "" {
		return ": " + text
	}
	return ""
}

// line returns the begin of a text as one line that is harmless on a terminal.
func line(text []byte) string {
	const most = 200
	return plain.Line(strings.Join(strings.Fields(string(text[:min(len(text), most)])), " "))
}

func (s *Sender) say(format string, args ...any) {
	if s.o.Say != nil {
		s.o.Say("--" + s.o.Option + " " + s.o.Where + ": " + fmt.Sprintf(format, args...))
	}
}

// tell prints a message once for each key.
func (s *Sender) tell(key, format string, args ...any) {
	s.mu.Lock()
	told := s.announced[key] || len(s.announced) > 20
	s.announced[key] = true
	s.mu.Unlock()
	if !told {
		s.say(format, args...)
	}
}

// Close sends waiting messages for up to endTime, and ends the Sender. Its error says how
// many messages were not delivered.
func (s *Sender) Close() error {
	select {
	case <-s.ending:
		return nil
	default:
	}
	close(s.ending)
	late := time.AfterFunc(endTime, s.stop)
	<-s.done
	late.Stop()
	s.stop()
	s.client.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.GivenUp += uint64(len(s.waiting))
	s.waiting = nil
	st := s.stats
	if st.Refused+st.GivenUp+st.Partial == 0 {
		return nil
	}
	what := fmt.Sprintf("%d of %d messages did not arrive", st.Refused+st.GivenUp, st.Accepted)
	if st.Refused+st.GivenUp == 0 {
		what = fmt.Sprintf("%d values were refused", st.Partial)
	}
	return diag.Errorf(diag.Run, "send", s.o.Where, "%s: %w", what, s.why).
		WithHint("look at what the server says, or leave out --%s", s.o.Option)
}

// Header parses headers in the form of $OTEL_EXPORTER_OTLP_HEADERS: name=value,
// separated by commas, with values escaped as in URLs.
func Header(text string) (http.Header, error) {
	h := http.Header{}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil ||
			strings.ContainsAny(name, "\r\n ") || strings.ContainsAny(value, "\r\n") {
			return nil, errors.New("want name=value, with commas between them")
		}
		h.Set(name, value)
	}
	return h, nil
}

// Address parses the URL of a server. shown is the URL for messages, without a password.
func Address(option, text string) (u *url.URL, shown string, err error) {
	u, err = url.Parse(text)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		err = errors.New("want http:// or https:// and a host")
	}
	if err != nil {
		if e := new(url.Error); errors.As(err, &e) {
			err = e.Err
		}
		port := 4318 // of OTLP
		if option == "pyroscope" {
			port = 4040
		}
		return nil, "", diag.Errorf(diag.Usage, "option", "--"+option, "%w", err).
			WithHint("write --%s http://localhost:%d", option, port)
	}
	return u, u.Redacted(), nil
}
