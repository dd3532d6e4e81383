package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/text/unit"
)

// Bounds that replace zero values of Options.
const (
	cacheBytes = 1 << 30   // bytes of the cache
	fileBytes  = 512 << 20 // bytes of one file
	fileTime   = time.Minute
	// mostWanted bounds the files that wait to be fetched, workers the files that are fetched at
	// the same time.
	mostWanted = 1024
	workers    = 4
	// mostFailures is the number of failures in a row after which a server is
	// not asked again in this run.
	mostFailures = 3
)

// Options of a Client.
type Options struct {
	URLs []string // addresses of the servers, in the order in which they are asked
	Dir  string   // directory of the cache; New makes it
	// BuildID reads the build-id of a file, in hex; nil means dso.FileBuildID.
	BuildID func(path string) string

	CacheBytes, FileBytes int64
	FileTime              time.Duration // longest time for one file
}

// Stats counts the requested files by outcome.
type Stats struct {
	Fetched, Cached uint64
	Missing         uint64 // no server has it
	Refused         uint64 // too large, too slow, the wrong file, or no answer
}

type want struct {
	id   string
	kind dso.Part
}

// state is the state of a requested file.
type state struct {
	path string // "" is not there
	over bool   // path is final
}

// A Client fetches files. All its methods may be called from several goroutines.
type Client struct {
	o      Options
	http   *http.Client
	cache  cache
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	moved  atomic.Uint64 // bytes received

	mu     sync.Mutex
	states map[want]*state
	jobs
	servers servers
	stats   Stats
	arrival chan struct{} // closed and replaced when a file was fetched or given up
}

// jobs has the files to fetch.
type jobs struct {
	queue   []want
	running int // number of workers
	busy    int // number of workers that fetch a file
}

// servers has the failures of the servers.
type servers struct {
	failed   map[string]int // failures in a row
	messages []string       // for Messages
}

// New makes a Client and its cache.
func New(o Options) (*Client, error) {
	if o.CacheBytes <= 0 {
		o.CacheBytes = cacheBytes
	}
	if o.FileBytes <= 0 {
		o.FileBytes = fileBytes
	}
	if o.FileTime <= 0 {
		o.FileTime = fileTime
	}
	if o.BuildID == nil {
		o.BuildID = dso.FileBuildID
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	c := &Client{
		o: o,
		http: &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout:   5 * time.Second,
			ResponseHeaderTimeout: 20 * time.Second, // servers may have to unpack packages
			MaxIdleConnsPerHost:   workers,
			// Answers are not decompressed: the bound is on the received bytes, and a
			// small answer must not become a large file.
			DisableCompression: true,
		}},
		cache:   cache{dir: o.Dir, most: o.CacheBytes},
		states:  map[want]*state{},
		servers: servers{failed: map[string]int{}},
		arrival: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Close cancels all requests.
func (c *Client) Close() error {
	if c == nil {
		return nil
	}
	c.cancel()
	c.tasks.Wait()
	c.http.CloseIdleConnections()
	return nil
}

// Path is the path of the file with a build-id in the cache; "" if it is not there. over says
// that this is final; otherwise the file is being fetched.
func (c *Client) Path(id string, kind dso.Part) (path string, over bool) {
	if c == nil || !valid(id) {
		return "", true
	}
	w := want{id, kind}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.states[w]; s != nil {
		return s.path, s.over
	}
	s := &state{}
	c.states[w] = s
	switch path, missing := c.cache.find(w); {
	case path != "":
		s.path, s.over = path, true
		c.stats.Cached++
	case missing:
		s.over = true
		c.stats.Missing++
	case len(c.queue) >= mostWanted || c.ctx.Err() != nil:
		s.over = true
		c.stats.Refused++
	default:
		c.queue = append(c.queue, w)
		if c.running < workers {
			c.running++
			c.tasks.Add(1)
			go c.work()
		}
	}
	return s.path, s.over
}

// valid reports that a text is a build-id, so that it may be part of a path and of
// a URL.
func valid(id string) bool {
	if len(id) < 8 || len(id) > 128 {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Stats returns the counts so far.
func (c *Client) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Messages returns the messages about servers since the last call.
func (c *Client) Messages() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := c.servers.messages
	c.servers.messages = nil
	return said
}

// Pending is the number of files that are still being fetched.
func (c *Client) Pending() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue) + c.busy
}

// Bounds on the wait of Settle: in total, and without progress.
const (
	settleTime = 30 * time.Second
	idleTime   = 8 * time.Second
	lookTime   = 250 * time.Millisecond
)

// Settle waits for a bounded time until all files were fetched or given up, and returns the
// number of files that are still missing. told, if not nil, is called after each part of the
// wait.
func (c *Client) Settle(told func(waited time.Duration, pending int)) (left int) {
	moved, begun := c.moved.Load(), time.Now()
	last := begun
	for c.Pending() > 0 {
		from := time.Now()
		c.wait(lookTime)
		now := time.Now()
		if told != nil {
			told(now.Sub(from), c.Pending())
		}
		if m := c.moved.Load(); m != moved {
			moved, last = m, now
		}
		if now.Sub(last) > idleTime || now.Sub(begun) > settleTime {
			break
		}
	}
	return c.Pending()
}

// wait returns when a file was fetched or given up, when there is none to fetch, or after
// a time.
func (c *Client) wait(most time.Duration) {
	c.mu.Lock()
	came, pending := c.arrival, len(c.queue)+c.busy
	c.mu.Unlock()
	if pending == 0 {
		return
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-came:
	case <-timer.C:
	}
}

// work fetches files until the queue is empty.
func (c *Client) work() {
	defer c.tasks.Done()
	c.mu.Lock()
	for len(c.queue) > 0 && c.ctx.Err() == nil {
		w := c.queue[0]
		c.queue = c.queue[1:]
		c.busy++
		c.mu.Unlock()
		path, err := c.get(w)
		c.mu.Lock()
		c.busy--
		s := c.states[w]
		s.path, s.over = path, true
		switch {
		case err == nil:
			c.stats.Fetched++
		case errors.Is(err, errMissing):
			c.stats.Missing++
		default:
			c.stats.Refused++
		}
		c.tell()
	}
	c.running--
	c.mu.Unlock()
}

// tell wakes the waiting goroutines. The caller holds the lock.
func (c *Client) tell() {
	close(c.arrival)
	c.arrival = make(chan struct{})
}

// errMissing says that no server has a file.
var errMissing = errors.New("no server has it")

// get asks the servers for a file, one after another.
func (c *Client) get(w want) (path string, err error) {
	missing := true
	for _, url := range c.o.URLs {
		c.mu.Lock()
		away := c.servers.failed[url] >= mostFailures
		c.mu.Unlock()
		if away {
			missing = false
			continue
		}
		path, err = c.fetch(url, w)
		if err == nil {
			c.answered(url, nil)
			return path, nil
		}
		if errors.Is(err, errMissing) {
			c.answered(url, nil)
			continue
		}
		missing = false
		if c.ctx.Err() != nil {
			return "", c.ctx.Err()
		}
		c.answered(url, err)
	}
	if missing {
		c.cache.missing(w)
		return "", errMissing
	}
	return "", errors.Join(errors.New("not fetched"), err)
}

// answered records whether a server answered properly.
func (c *Client) answered(url string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.servers.failed[url] = 0
		return
	}
	c.servers.failed[url]++
	switch c.servers.failed[url] {
	case 1:
		c.servers.messages = append(c.servers.messages, fmt.Sprintf("debuginfod %s: %v", HidePassword(url),
			err))
	case mostFailures:
		c.servers.messages = append(c.servers.messages,
			fmt.Sprintf("debuginfod %s: not asked any more: %d failures in a row", HidePassword(url),
				mostFailures))
	}
}

// fetch fetches a file from a server into the cache.
func (c *Client) fetch(url string, w want) (path string, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.o.FileTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address(url, w), nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("User-Agent", "ppscript")
	res, err := c.http.Do(req)
	if err != nil {
		return "", plainError(err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound:
		return "", errMissing
	case res.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s %s: answered %s", w.kind, w.id, res.Status)
	case res.ContentLength > c.o.FileBytes:
		return "", tooLarge(w, c.o.FileBytes)
	}
	// The temporary file is in the same directory: the sandbox allows moving
	// files only within a directory.
	dir := filepath.Dir(c.cache.place(w))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, newPrefix)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
			_ = os.Remove(dir) // removed only if it is empty
		}
	}()
	n, err := io.Copy(f, io.LimitReader(&countingReader{res.Body, &c.moved}, c.o.FileBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", plainError(err)
	}
	if n > c.o.FileBytes {
		return "", tooLarge(w, c.o.FileBytes)
	}
	if id := c.o.BuildID(f.Name()); id != w.id {
		return "", fmt.Errorf("%s %s: got a file with build-id %q", w.kind, w.id, id)
	}
	return c.cache.take(f.Name(), w, n)
}

func tooLarge(w want, most int64) error {
	return fmt.Errorf("%s %s: got more than %s", w.kind, w.id, unit.Size(most))
}

// plainError removes the address from an error, since the message has it
// already.
func plainError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("took too long")
	}
	var in interface{ Unwrap() error }
	if errors.As(err, &in) && in.Unwrap() != nil {
		return in.Unwrap()
	}
	return err
}

// countingReader counts the received bytes.
type countingReader struct {
	io.Reader
	n *atomic.Uint64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n.Add(uint64(n))
	return n, err
}

func address(url string, w want) string {
	return url + "/buildid/" + w.id + "/" + string(w.kind)
}

// CacheDir is the directory of the user's cache.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "ppscript", "debuginfod"), err
}
