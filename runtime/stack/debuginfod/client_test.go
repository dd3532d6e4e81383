package debuginfod

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ppscript/runtime/stack/dso"
)

const id = "0123456789abcdef0123"

// ids says that a file's build-id is its first line.
func ids(path string) string {
	b, _ := os.ReadFile(path)
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return string(line)
}

func client(t *testing.T, o Options, handler http.HandlerFunc) *Client {
	t.Helper()
	if handler != nil {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		o.URLs = append(o.URLs, server.URL)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.BuildID = ids
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// waitForFile waits for a file.
func waitForFile(t *testing.T, c *Client, id string, kind dso.Part) string {
	t.Helper()
	c.Path(id, kind)
	if left := c.Settle(nil); left > 0 {
		t.Fatalf("%d files did not come", left)
	}
	path, over := c.Path(id, kind)
	if !over {
		t.Fatal("not over")
	}
	return path
}

// cachedFiles lists the files in a cache.
func cachedFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestFilesComeOnceAndStay(t *testing.T) {
	var asked atomic.Int32
	serve := func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/buildid/"+id+"/debuginfo" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		fmt.Fprintf(w, "%s\nsymbols", id)
	}
	dir := t.TempDir()
	for range 2 {
		c := client(t, Options{Dir: dir}, serve)
		path := waitForFile(t, c, id, dso.DebugInfo)
		if b, err := os.ReadFile(path); err != nil || string(b) != id+"\nsymbols" {
			t.Errorf("got %q, %v", b, err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
}

// The caller is never held up, whatever a server does.
func TestAskingDoesNotWait(t *testing.T) {
	stall := make(chan struct{})
	c := client(t, Options{}, func(http.ResponseWriter, *http.Request) { <-stall })
	for i := range 100 {
		if path, over := c.Path(fmt.Sprintf("%s%02x", id, i), dso.DebugInfo); path != "" || over {
			t.Fatalf("got %q, %t, want nothing for now", path, over)
		}
	}
	if n := c.Pending(); n != 100 {
		t.Errorf("%d are pending, want 100", n)
	}
	close(stall)
}

func TestThatNobodyHasAFileIsRemembered(t *testing.T) {
	var asked atomic.Int32
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}
	dir := t.TempDir()
	for range 2 {
		if path := waitForFile(t, client(t, Options{Dir: dir}, refuse), id, dso.Executable); path != "" {
			t.Errorf("got %q", path)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
	old := time.Now().Add(-missingTime - time.Second)
	if err := os.Chtimes(filepath.Join(dir, id, "executable.missing"), old, old); err != nil {
		t.Fatal(err)
	}
	waitForFile(t, client(t, Options{Dir: dir}, refuse), id, dso.Executable)
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times after a while, want twice", n)
	}
}

// What a hostile server sends neither comes into the cache nor fills the disk, and it ends.
func TestHostileServers(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"garbage":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"nothing":   func(http.ResponseWriter, *http.Request) {},
		"of others": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ffffffff\nsymbols") },
		"error":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for line := []byte(id + "\n" + strings.Repeat("x", 1<<16)); ; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		},
		"said to be large": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000000")
			w.WriteHeader(http.StatusOK)
		},
		"slow": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := fmt.Fprintf(w, "%s\n", id); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond)
			}
		},
		"loop": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, Options{FileBytes: 1 << 20, FileTime: 100 * time.Millisecond}, serve)
			if path := waitForFile(t, c, id, dso.DebugInfo); path != "" {
				t.Errorf("got %s", path)
			}
			if s := c.Stats(); s.Refused != 1 || s.Fetched+s.Missing != 0 {
				t.Errorf("got %+v, want one refused", s)
			}
			if names := cachedFiles(t, c.o.Dir); names != nil {
				t.Errorf("the cache has %q", names)
			}
			if said := c.Messages(); len(said) != 1 {
				t.Errorf("said %q, want one line", said)
			}
		})
	}
}

// A server that is away is left alone; another one is asked.
func TestServersThatAreAway(t *testing.T) {
	var asked atomic.Int32
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer away.Close()
	c := client(t, Options{URLs: []string{away.URL}}, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, strings.Split(r.URL.Path, "/")[2])
	})
	for i := range 20 {
		if waitForFile(t, c, fmt.Sprintf("%s%02x", id, i), dso.DebugInfo) == "" {
			t.Error("the second server was not asked")
		}
	}
	if n := asked.Load(); n != mostFailures {
		t.Errorf("asked %d times, want %d", n, mostFailures)
	}
	if said := c.Messages(); len(said) != 2 {
		t.Errorf("said %q, want two lines", said)
	}
}

// The files that were used last stay.
func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	c := client(t, Options{Dir: dir, CacheBytes: 10_000}, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s\n%s", strings.Split(r.URL.Path, "/")[2], strings.Repeat("x", 3000))
	})
	name := func(i int) string { return fmt.Sprintf("%s%02x", id, i) }
	for i := range 5 {
		waitForFile(t, c, name(i), dso.DebugInfo)
		// The oldest is used again and again, by another run.
		at := time.Now().Add(time.Duration(i-100) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, name(i), "debuginfo"), at, at); err != nil {
			t.Fatal(err)
		}
		if path := waitForFile(t, client(t, Options{Dir: dir}, nil), name(0), dso.DebugInfo); path == "" {
			t.Errorf("the first is gone after %d", i)
		}
	}
	names := cachedFiles(t, dir)
	if len(names) != 3 || names[0] != name(0)+"/debuginfo" || names[2] != name(4)+"/debuginfo" {
		t.Errorf("got %q, want the first and the last", names)
	}
}

func TestBuildIDs(t *testing.T) {
	c := client(t, Options{}, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked for %s", r.URL.Path)
	})
	long := strings.Repeat("0", 200)
	for _, id := range []string{"", "../../etc", "ABCDEF0123", "012345", long, "0123456789/x"} {
		if path, over := c.Path(id, dso.DebugInfo); path != "" || !over {
			t.Errorf("%q: got %q, %t", id, path, over)
		}
	}
	if path, over := (*Client)(nil).Path(id, dso.DebugInfo); path != "" || !over {
		t.Errorf("without a client: got %q, %t", path, over)
	}
}

func TestServersOfTheEnvironment(t *testing.T) {
	t.Setenv(Variable, " https://a.example/  ima:enforcing http://b.example:8002")
	list, err := FromEnvironment()
	if err != nil || strings.Join(list, " ") != "https://a.example http://b.example:8002" {
		t.Errorf("got %q, %v", list, err)
	}
	for _, text := range []string{"", "ima:enforcing", "ftp://a.example", "https://"} {
		t.Setenv(Variable, text)
		if list, err := FromEnvironment(); err == nil {
			t.Errorf("%q: got %q", text, list)
		}
	}
	if s := HidePassword("https://me:secret@a.example"); strings.Contains(s, "secret") {
		t.Errorf("got %s", s)
	}
}
