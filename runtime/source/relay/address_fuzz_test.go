package relay

import "testing"

func FuzzAddress(f *testing.F) {
	for _, s := range []string{"9900", "127.0.0.1:9900", "unix:/x", "vsock:1:2", "vsock:9", "/dev/vport0p1",
		"[::1]:5", "host:port", ":", "65536", "vsock:", "./1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parse(text)
		if a.text != text {
			t.Errorf("%q: got %q", text, a.text)
		}
		if err == nil && (a.port > 1<<32-1 || a.kind == unixSocket && len(a.path) > maxSocketPath) {
			t.Errorf("%q: got %+v", text, a)
		}
		IsFile(text)
	})
}
