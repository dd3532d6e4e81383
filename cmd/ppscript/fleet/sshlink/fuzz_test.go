package sshlink

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever comes from a host is messages, or an error; those that were sent are those that come.
func FuzzMessages(f *testing.F) {
	f.Add([]byte{1, 3, 'a', 'b', 'c', 2, 0})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, text []byte) {
		var again bytes.Buffer
		w, r := NewWriter(&again), NewReader(bytes.NewReader(text))
		for {
			kind, data, err := r.Receive()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return
			}
			if err := w.Send(kind, data); err != nil {
				t.Fatal(err)
			}
		}
		r1, r2 := NewReader(bytes.NewReader(text)), NewReader(&again)
		for {
			k1, d1, err1 := r1.Receive()
			k2, d2, err2 := r2.Receive()
			if k1 != k2 || !bytes.Equal(d1, d2) || (err1 == nil) != (err2 == nil) {
				t.Fatalf("got %d %q %v, want %d %q %v", k2, d2, err2, k1, d1, err1)
			}
			if err1 != nil {
				return
			}
		}
	})
}

// A name of a host is none of ssh's options, and stands for itself.
func FuzzHosts(f *testing.F) {
	f.Add("db1 role=db rack=r7\nroot@db2 # a comment\nssh://root@10.0.0.7:2222\n")
	f.Add("-oProxyCommand=x\n\x00 a=b=c\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "hosts")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		hosts, err := ReadHosts(path)
		if err != nil {
			return
		}
		for _, h := range hosts {
			if h.Name == "" || strings.HasPrefix(h.Name, "-") || strings.ContainsAny(h.Name, " \t\n\x00=*") {
				t.Errorf("got a host %q", h.Name)
			}
			for k, v := range h.Labels {
				if k == "" || v == "" || strings.ContainsAny(k+v, " \t\n") {
					t.Errorf("got label %q=%q", k, v)
				}
			}
		}
	})
}
