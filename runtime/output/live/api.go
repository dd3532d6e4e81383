package live

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// This file serves /api/v1/, which docs/live.md describes. Records are lines of JSON in the
// form of --format json; the description of the run is one JSON object.

const api = "/api/v1/"

func (s *Server) routes() {
	s.mux.HandleFunc("/{$}", s.page)
	s.mux.HandleFunc(api+"run", s.run)
	s.mux.HandleFunc(api+"events", s.follow)
	s.mux.HandleFunc(api+"latest", func(w http.ResponseWriter, r *http.Request) {
		s.serveFrame(w, r, s.newest())
	})
	s.mux.HandleFunc(api+"intervals/{number}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.PathValue("number"))
		if err != nil {
			http.Error(w, "not the number of an interval", http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		f := s.history.get(n)
		s.mu.Unlock()
		s.serveFrame(w, r, f)
	})
	for path, list := range map[string]*list{
		"log": &s.lines, "details": &s.details, "messages": &s.notes,
	} {
		s.mux.HandleFunc(api+path, func(w http.ResponseWriter, r *http.Request) { s.serveList(w, r, list) })
	}
}

func (s *Store) newest() *Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.get(s.history.last)
}

// About describes the run to a page.
type About struct {
	Script string   `json:"script"`
	Args   []string `json:"args"`
	// Interval is in ns; 0 if results come only at the end.
	Interval int64     `json:"interval"`
	Recorded bool      `json:"recorded"`
	Began    time.Time `json:"began"`
	Host     string    `json:"host"`
	CPUs     int       `json:"cpus"`
	State    State     `json:"state"`
	Cost     Cost      `json:"cost"`
}

// Cost is the cost of the run so far.
type Cost struct {
	CPU  int64 `json:"cpu"`  // ns of CPU time of ppscript itself, since the run began
	RSS  int64 `json:"rss"`  // bytes of memory now
	Wall int64 `json:"wall"` // ns since the run began
}

// Run describes the run as it is now.
func (s *Store) Run() About {
	s.mu.Lock()
	defer s.mu.Unlock()
	host, _ := os.Hostname()
	args := s.about.Args
	if args == nil {
		args = []string{}
	}
	a := About{Script: s.about.Script, Args: args, Interval: int64(s.about.Interval),
		Recorded: s.about.Recorded, Began: s.began, Host: host, CPUs: runtime.NumCPU(),
		State: s.state, Cost: s.cost()}
	if a.State.Loss == nil {
		a.State.Loss = map[string]uint64{}
	}
	return a
}

// cost returns the cost so far. The caller holds the lock.
func (s *Store) cost() Cost {
	c := Cost{}
	if !s.began.IsZero() {
		c.Wall = int64(s.now().Sub(s.began))
	}
	c.CPU = cpuTime() - s.cpu
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			c.RSS = pages * int64(os.Getpagesize())
		}
	}
	return c
}

// cpuTime returns the CPU time of this process in ns.
func cpuTime() int64 {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return ru.Utime.Nano() + ru.Stime.Nano()
}

func (s *Server) run(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	// An error means that the client has disconnected.
	_ = json.NewEncoder(w).Encode(s.Run())
}

// serveFrame sends the records of an interval, compressed if the client accepts gzip.
func (s *Server) serveFrame(w http.ResponseWriter, r *http.Request, f *Frame) {
	if f == nil {
		http.Error(w, "this interval is not over yet, or is not kept any more", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("X-Interval", strconv.Itoa(f.Number))
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(f.records)))
		w.Write(f.records)
		return
	}
	f.unpack(w)
}

// unpack writes the records of a frame.
func (f *Frame) unpack(w io.Writer) {
	zip, err := gzip.NewReader(strings.NewReader(string(f.records)))
	if err == nil {
		_, _ = io.Copy(w, zip) // an error means that the client has disconnected
	}
}

// serveList sends the kept records after the number in the parameter "after". Headers have the
// number of all records so far, and how many of them are not kept.
func (s *Server) serveList(w http.ResponseWriter, r *http.Request, l *list) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	s.mu.Lock()
	items, came, skipped := l.since(after), l.total, l.skipped
	s.mu.Unlock()
	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("X-Came", strconv.Itoa(came))
	h.Set("X-Left-Out", strconv.Itoa(skipped))
	for _, text := range items {
		if _, err := w.Write(text); err != nil {
			return
		}
	}
}

// stateTime is the longest time between two states that are sent to a client; tellTime
// is the shortest.
const (
	stateTime = 2 * time.Second
	tellTime  = 100 * time.Millisecond
)

// follow sends the state of the run after each change, as server-sent events. A slow client
// gets the newest state when it is ready; states are not queued for it.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	if !s.watching.add(1) {
		http.Error(w, "too many pages are open: close one", http.StatusServiceUnavailable)
		return
	}
	defer s.watching.add(-1)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	to := http.NewResponseController(w)
	timer := time.NewTimer(stateTime)
	defer timer.Stop()
	for {
		state, changed := s.State()
		if err := s.tell(w, to, state); err != nil {
			return
		}
		if state.Ended { // the client disconnects when it has fetched the rest
			<-r.Context().Done()
			return
		}
		timer.Reset(tellTime)
		select {
		case <-r.Context().Done():
			return
		case <-timer.C:
		}
		timer.Reset(stateTime - tellTime)
		select {
		case <-r.Context().Done():
			return
		case <-timer.C:
		case <-changed:
		}
	}
}

func (s *Server) tell(w io.Writer, to *http.ResponseController, state State) error {
	s.mu.Lock()
	cost := s.cost()
	s.mu.Unlock()
	if state.Loss == nil {
		state.Loss = map[string]uint64{}
	}
	text, err := json.Marshal(struct {
		State
		Cost Cost `json:"cost"`
	}{state, cost})
	if err != nil {
		return err
	}
	if err := to.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "event: state\ndata: %s\n\n", text); err != nil {
		return err
	}
	return to.Flush()
}

// silent returns a logger that discards errors of clients, which are of no use
// on the user's terminal.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }
