package sshlink

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestHostsOfFiles(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "hosts")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		hosts, err := ReadHosts(path)
		got := ""
		for _, h := range hosts {
			got += h.Name + "(" + h.Labels["role"] + h.Labels["rack"] + ")"
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	f("", "")
	f("# none\n\n", "")
	f("a\nroot@b role=db rack=7 # of Bob\nssh://c:22\n", "a()root@b(db7)ssh://c:22()")
	f("a\na\n", "a is there twice")
	f("-oProxyCommand=evil\n", "no name of a host")
	f("role=db\n", "no name of a host")
	f("a role\n", `"role" is no label`)
}

// Whatever comes, messages are whole or an error.
func TestMessages(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	long := bytes.Repeat([]byte("x"), MaxMessage)
	for _, m := range [][]byte{nil, []byte("one"), long} {
		if err := w.Send('p', m); err != nil {
			t.Fatal(err)
		}
	}
	whole := bytes.Clone(b.Bytes())
	r := NewReader(&b)
	for _, want := range [][]byte{nil, []byte("one"), long} {
		if kind, got, err := r.Receive(); kind != 'p' || !bytes.Equal(got, want) || err != nil {
			t.Errorf("got %c, %d bytes, %v, want %d bytes", kind, len(got), err, len(want))
		}
	}
	if _, _, err := r.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v at the end, want EOF", err)
	}
	if _, _, err := NewReader(bytes.NewReader(whole[:5])).Receive(); err != nil {
		t.Error(err)
	}
	r = NewReader(bytes.NewReader(whole[:5]))
	_, _, _ = r.Receive()
	if _, _, err := r.Receive(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v of a part, want an unexpected end", err)
	}
	if _, _, err := NewReader(strings.NewReader("p\xff\xff\xff\xff\x0f")).Receive(); err == nil {
		t.Error("a message may be of any length")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		text := make([]byte, random.IntN(100))
		for i := range text {
			text[i] = byte(random.Uint32())
		}
		r := NewReader(bytes.NewReader(text))
		for {
			if _, got, err := r.Receive(); err != nil {
				break
			} else if len(got) > len(text) {
				t.Fatalf("got %d bytes out of %d", len(got), len(text))
			}
		}
	}
}

// A login shell may say something first, but not without end.
func TestGreetings(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got, err := greet(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f("welcome\n\n"+greeting+"Linux x86_64\n", "Linux x86_64")
	f(strings.Repeat("y", 1<<20)+"\n"+greeting+"Linux x86_64\n", "Linux x86_64")
	f("welcome\n", "EOF")
	f(strings.Repeat("y\n", 1<<20), "its shell says much, and does not start sh")
}

// What hosts are sent passes through every login shell: one line, without a quote within.
func TestShellTakesWhatItIsSent(t *testing.T) {
	text := strings.Join(shellLines, "; ")
	if strings.ContainsAny(text, "'\n") {
		t.Errorf("got a quote or a line in %s", text)
	}
	dir := t.TempDir()
	f := func(in, want string) {
		t.Helper()
		cmd := exec.Command("/bin/sh", "-c", shellCommand())
		cmd.Stdin = strings.NewReader(in)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
		var said bytes.Buffer
		cmd.Stderr = &said
		out, _ := cmd.Output() // what it says tells more than its status
		if !strings.HasPrefix(string(out), greeting+"Linux ") || !strings.HasSuffix(string(out), want) {
			t.Errorf("%q: got %s%s, want %s", in, out, said.String(), want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%q: left behind: %v, %v", in, left, err)
		}
	}
	// The SHA-256 of a script that says with which words it was started.
	const script = "#!/bin/sh\necho $1 $2\n"
	const sum = "ff43da0c6bdda09ea8c9faefc2af23b6a22dc94112fbce91e8eac76cdd0218d2"
	f("", "\n")
	f(sum+" 21 no no\n"+script, "want\nrun\nfleet remote\n")
	f(sum+" 21 no no\n"+script[:20], "want\nno what arrived is not what was sent\n")
	f(sum+" 21 no no\n"+script[:len(script)-1]+"#", "want\nno what arrived is not what was sent\n")
}
