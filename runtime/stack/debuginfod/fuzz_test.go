package debuginfod

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"ppscript/runtime/stack/dso"
)

// FuzzAnswers checks that servers may answer anything: a file is used only if it is one with the
// build-id that was asked for, and nothing else stays in the cache.
func FuzzAnswers(f *testing.F) {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(200, int64(-1), program[:4096])
	f.Add(200, int64(1<<40), []byte("\x7fELF\x02\x01\x01"))
	f.Add(200, int64(3), []byte("less than was promised"))
	f.Add(404, int64(0), []byte{})
	f.Add(503, int64(-1), []byte("later"))
	f.Add(200, int64(-1), []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00"+
		"\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00"))
	f.Fuzz(func(t *testing.T, status int, length int64, body []byte) {
		if status < 200 || status > 599 {
			t.Skip("no answer")
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// By hand, since the library lets nobody promise what does not come.
			conn, out, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			promised := ""
			if length >= 0 {
				promised = fmt.Sprintf("Content-Length: %d\r\n", length)
			}
			_, _ = fmt.Fprintf(out, "HTTP/1.1 %d x\r\n%sConnection: close\r\n\r\n%s", status, promised, body)
			_ = out.Flush()
			_ = conn.(*net.TCPConn).CloseWrite()
		}))
		defer server.Close()
		c, err := New(Options{URLs: []string{server.URL}, Dir: t.TempDir(), FileBytes: 1 << 20,
			FileTime: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		path := waitForFile(t, c, id, dso.DebugInfo)
		if path == "" {
			return
		}
		if is := dso.FileBuildID(path); is != id {
			t.Errorf("got a file with build-id %q for %s", is, id)
		}
	})
}
