package journal

import (
	"crypto/sha256"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// listen is a journal, and returns what comes.
func listen(t *testing.T) (socket string, next func() string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "socket")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return socket, func() string {
		if err := l.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1<<20)
		n, err := l.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
}

// message is the entry of what was sent.
func message(t *testing.T, sent string) (e Entry) {
	t.Helper()
	fields := map[string]string{}
	for line := range strings.Lines(sent) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		fields[name] = value
	}
	if fields["SYSLOG_IDENTIFIER"] != "ppscript" || fields["PRIORITY"] != "6" || len(fields) != 3 {
		t.Errorf("got %q, want an identifier, a priority and a message", sent)
	}
	if err := json.Unmarshal([]byte(fields["MESSAGE"]), &e); err != nil {
		t.Fatalf("%v: %s", err, fields["MESSAGE"])
	}
	return e
}

func TestEntryIsOneLine(t *testing.T) {
	socket, next := listen(t)
	const script = "/tmp/a.star"
	e := New("v1", []string{"trace", "--pyroscope", "http://me:secret@host:4040/",
		"--otlp=http://me:secret@host", "two\nlines", "a=b://c"},
		map[string][sha256.Size]byte{script: sha256.Sum256([]byte("abc"))})
	e.Target = Target{PIDs: []int{1}}
	if err := Open(socket).Tell(e); err != nil {
		t.Fatal(err)
	}
	got := message(t, next())
	want := []string{"trace", "--pyroscope", "http://me:xxxxx@host:4040/", "--otlp=http://me:xxxxx@host",
		"two\nlines", "a=b://c"}
	if !reflect.DeepEqual(got.Command, want) {
		t.Errorf("got %q, want %q", got.Command, want)
	}
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of abc
	files := []File{{script, sum}}
	if !reflect.DeepEqual(got.Files, files) || got.UID != os.Getuid() || got.V != 1 || got.Type != "run" {
		t.Errorf("got %+v, want the files %v", got, files)
	}
}

func TestLongEntry(t *testing.T) {
	socket, next := listen(t)
	e := New("v1", []string{"trace", strings.Repeat("x", 1<<20)}, nil)
	if err := Open(socket).Tell(e); err != nil {
		t.Fatal(err)
	}
	if got := message(t, next()); len(got.Command) != 1 {
		t.Errorf("got %d arguments, want the first", len(got.Command))
	}
}

func TestWithoutJournal(t *testing.T) {
	j := Open(filepath.Join(t.TempDir(), "none"))
	if err := j.Tell(New("v1", nil, nil)); j != nil || err != nil {
		t.Errorf("got %v, %v; want none", j, err)
	}
}
