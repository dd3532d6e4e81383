package live

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/output"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
)

func about() output.About {
	return output.About{Script: "top", Args: []string{"top", "-i", "1s"}, Interval: time.Second}
}

// table is the result of an interval.
func table(seq, rows int) *result.Table {
	t := &result.Table{
		Meta: result.Meta{Name: "table", Seq: seq, Samples: 10, TotalSamples: uint64(10 * seq),
			Loss: event.Loss{Lost: 1}},
		Columns: []result.Column{{Name: "comm", Kind: result.KeyColumn}, {Name: "count"}},
	}
	for i := range rows {
		name := fmt.Sprintf("thread-%d", (i*7919+seq)%1000)
		t.Rows = append(t.Rows, []event.Value{event.StrOf(name), event.IntOf(int64(i * seq))})
	}
	return t
}

// serve is a server that listens, and has begun.
func serve(t *testing.T, address, token string) *Server {
	t.Helper()
	s := NewServer(address, token)
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(about()); err != nil {
		t.Fatal(err)
	}
	return s
}

func interval(t *testing.T, s output.Sink, seq, rows int) {
	t.Helper()
	if err := errors.Join(s.Show(table(seq, rows)), s.Flush()); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, url string, change func(*http.Request)) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

func TestWhoMayLook(t *testing.T) {
	s := serve(t, "127.0.0.1:0", "")
	defer s.Close()
	url := s.URL("/api/v1/run")
	bare, _, _ := strings.Cut(url, "?")
	if len(s.token) != 32 {
		t.Errorf("the token is %q, want 128 bits in hex", s.token)
	}
	for _, c := range []struct {
		what   string
		url    string
		change func(*http.Request)
		want   int
	}{
		{"the address that is printed", url, nil, 200},
		{"as programs have it", bare, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+s.token) }, 200},
		{"no token", bare, nil, 401},
		{"a wrong token", bare + "?token=" + strings.Repeat("0", 32), nil, 401},
		{"a name that leads here", url, func(r *http.Request) { r.Host = "evil.example" }, 421},
		{"a name that begins as ours", url, func(r *http.Request) { r.Host = "localhost.evil.example" }, 421},
		{"our name", url, func(r *http.Request) { r.Host = "localhost:1234" }, 200},
		{"our number", url, func(r *http.Request) { r.Host = "[::1]:80" }, 200},
		{"something else than reading", url, func(r *http.Request) { r.Method = http.MethodPost }, 405},
		{"a path that is not there", s.URL("/etc/passwd"), nil, 404},
	} {
		if got, body := get(t, c.url, c.change); got != c.want {
			t.Errorf("%s: got %d %s, want %d", c.what, got, body, c.want)
		}
	}
	a, err := http.Get(s.URL("/"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if policy := a.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none';") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("the policy of the page is %q", policy)
	}
}

func TestSocketsAreTheOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page")
	s := serve(t, "unix:"+path, "")
	defer s.Close()
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v (%v), want 0600", st.Mode(), err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	c := http.Client{Transport: &http.Transport{DialContext: dial}}
	for host, want := range map[string]int{"localhost": 200, "evil.example": 421} {
		a, err := c.Get("http://" + host + "/api/v1/run")
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("without a token, as %s: got %s, want %d", host, a.Status, want)
		}
	}
}

func TestAddressesThatCannotBe(t *testing.T) {
	taken := serve(t, "127.0.0.1:0", "")
	defer taken.Close()
	for address, want := range map[string]string{
		taken.ln.Addr().String():      "address already in use",
		"192.0.2.1:80":                "cannot assign requested address",
		"nonsense":                    "not an address",
		"unix:/there/is/no/such/path": "no such file or directory",
	} {
		err := NewServer(address, "").Listen(t.Context())
		var e *diag.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || e.Class != diag.Usage ||
			e.Hint == "" {
			t.Errorf("%s: got %v, want %q with a hint", address, err, want)
		}
	}
}

// What an answer has is what --format json writes.
func TestRecords(t *testing.T) {
	s := serve(t, "127.0.0.1:0", "")
	defer s.Close()
	if status, _ := get(t, s.URL("/api/v1/latest"), nil); status != 404 {
		t.Errorf("before the first interval: got %d, want 404", status)
	}
	interval(t, s, 1, 2)
	interval(t, s, 2, 3)
	for path, want := range map[string]float64{"latest": 2, "intervals/1": 1, "intervals/2": 2} {
		status, body := get(t, s.URL("/api/v1/"+path), nil)
		var r struct {
			V    int
			Type string
			Data struct {
				Seq  float64
				Rows []map[string]any
			}
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil || status != 200 {
			t.Fatalf("%s: %d %v in %s", path, status, err, body)
		}
		if r.V != 1 || r.Type != "table" || r.Data.Seq != want || len(r.Data.Rows) != int(want)+1 {
			t.Errorf("%s: got %s, want interval %v with %v rows", path, body, want, want+1)
		}
	}
	if status, _ := get(t, s.URL("/api/v1/intervals/3"), nil); status != 404 {
		t.Errorf("an interval that is not there: got %d, want 404", status)
	}
	var run About
	_, body := get(t, s.URL("/api/v1/run"), nil)
	if err := json.Unmarshal([]byte(body), &run); err != nil {
		t.Fatal(err)
	}
	if run.State.Samples != 20 || run.State.Loss["lost"] != 2 || run.State.Newest != 2 {
		t.Errorf("the state is %+v, want 20 samples, 2 of which were lost, in 2 intervals", run.State)
	}
}

// An hour of a second each, before ten readers of which half do not read at all: nothing waits for
// them, those that read get the newest state, and memory does not grow.
func TestSlowReadersDelayNobody(t *testing.T) {
	s := serve(t, "127.0.0.1:0", "")
	fast := make(chan int, 5)
	for i := range 10 {
		c, err := net.Dial("tcp", s.ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		path := strings.TrimPrefix(s.URL("/api/v1/events"), "http://"+s.ln.Addr().String())
		if i%2 == 0 {
			path = strings.Replace(path, "events", "latest", 1) // large answers, which nobody takes
		}
		n := 1 + 9*(1-i%2)
		fmt.Fprint(c, strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n", n))
		if i%2 == 0 {
			continue
		}
		go func() {
			newest := 0
			for r := bufio.NewScanner(c); r.Scan(); {
				var st State
				text, ok := strings.CutPrefix(r.Text(), "data: ")
				if ok && json.Unmarshal([]byte(text), &st) == nil {
					if newest = st.Newest; st.Ended {
						break
					}
				}
			}
			c.Close()
			fast <- newest
		}()
	}
	var early uint64
	for seq := 1; seq <= 3600; seq++ {
		interval(t, s, seq, 200)
		if err := s.Show(result.TextOf("a message of some length, which is kept for a while\n")); err != nil {
			t.Fatal(err)
		}
		if seq == 1200 {
			early = heap()
		}
	}
	if late := heap(); late > early+2<<20 {
		t.Errorf("after 1,200 intervals %d kB, after 3,600 %d kB", early>>10, late>>10)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 5 {
		if newest := <-fast; newest != 3600 {
			t.Errorf("a reader knows of interval %d at the end, want 3600", newest)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestHistoryIsBounded(t *testing.T) {
	h := history{}
	for i := range 2000 {
		h.add(&Frame{records: make([]byte, 100<<10), whole: i == 0})
	}
	if n := len(h.frames); n != maxIntervalBytes/(100<<10) || h.last != 2000 || h.bytes > maxIntervalBytes {
		t.Errorf("got %d frames with %d bytes, up to %d", n, h.bytes, h.last)
	}
	if h.get(h.first()) == nil || h.get(h.first()-1) != nil || h.get(2000) == nil || h.get(2001) != nil {
		t.Errorf("frames from %d are kept: got others", h.first())
	}
	huge := history{}
	huge.add(&Frame{records: make([]byte, maxIntervalBytes+1)})
	if huge.get(1) == nil {
		t.Error("one interval that is larger than the bound is not kept")
	}
	again := history{}
	for range 3 {
		again.add(&Frame{records: make([]byte, 10), fleeting: true})
	}
	if len(again.frames) != 1 || again.get(3) == nil || again.bytes != 10 {
		t.Errorf("states that pass: got %d frames, %d bytes; want the newest", len(again.frames), again.bytes)
	}
}

// Of pairs the newest are kept, and the slowest.
func TestListsAreBounded(t *testing.T) {
	l := list{most: 10, mostBytes: 1000}
	for i := range 100 {
		weight := int64(1)
		if i%25 == 3 {
			weight = int64(1000 + i)
		}
		l.add(fmt.Append(nil, i), weight)
	}
	var got []string
	for _, text := range l.since(0) {
		got = append(got, string(text))
	}
	want := "3 28 53 78 94 95 96 97 98 99"
	if strings.Join(got, " ") != want || l.total != 100 || l.skipped != 90 {
		t.Errorf("got %v of %d, %d left out; want %s", got, l.total, l.skipped, want)
	}
	if l.add(make([]byte, 400), 5000); l.skipped != 91 {
		t.Error("a record that is large beside the bound is kept")
	}
	for range 10 {
		l.add(make([]byte, 200), 1)
	}
	if l.bytes > 1000 {
		t.Errorf("got %d bytes, want 1000 at most", l.bytes)
	}
}

// TestLinesHaveABudget checks that lines that come faster than people read are counted, not made
// into records.
func TestLinesHaveABudget(t *testing.T) {
	now := time.Unix(1000, 0)
	b := budget{now: func() time.Time { return now }, each: linesEach}
	took := 0
	for i := range 100_000 {
		if i%1000 == 0 {
			now = now.Add(10 * time.Millisecond) // 100 ms for 10,000 lines
		}
		if b.take() {
			took++
		}
	}
	if took != 10*linesEach {
		t.Errorf("took %d of 100,000 lines in a second, want %d", took, 10*linesEach)
	}
	if n := testing.AllocsPerRun(1000, func() { b.take() }); n != 0 {
		t.Errorf("%v allocations for each line", n)
	}
}

var part = regexp.MustCompile(`<script type="text/plain" class="(\w+)"[^>]*>([^<]*)</script>`)

// A snapshot takes the place of the one before at once, and has all that the page shows.
func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.html")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := SnapshotOpener(path).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "before" {
		t.Errorf("before there is something to show, the file has %.50q", text)
	}
	if err := s.Begin(about()); err != nil {
		t.Fatal(err)
	}
	interval(t, s, 1, 2)
	interval(t, s, 2, 2)
	if err := s.Show(result.TextOf("</script><script>alert(1)</script>")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("alert(1)")) {
		t.Error("what a script printed became a part of the page")
	}
	found := map[string]int{}
	for _, m := range part.FindAllSubmatch(text, -1) {
		raw, err := base64.StdEncoding.DecodeString(string(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		zip, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := io.ReadAll(zip)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(lines) {
			if !json.Valid(line) {
				t.Errorf("%s has %s", m[1], line)
			}
			found[string(m[1])]++
		}
	}
	if found["run"] != 1 || found["interval"] != 2 || found["list"] != 1 {
		t.Errorf("got records %v, want one of the run, 2 of intervals, one of a list", found)
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSnapshotsThatCannotBe(t *testing.T) {
	for _, path := range []string{"/there/is/no/such/file.html", t.TempDir(), "/dev/null"} {
		_, err := SnapshotOpener(path).Open(t.Context())
		if e := new(diag.Error); !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%s: got %v, want an error with a hint", path, err)
		}
	}
}
