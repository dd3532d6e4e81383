package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ppscript/cmd/ppscript/fleet/journal"
	"ppscript/tests/testkit"
)

// A run in the sandbox writes a line about itself to the machine's journal. In a mount namespace, the
// test puts its own socket where systemd's journal listens.
func TestJournalIsTold(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Program("unshare"))...)
	dir := t.TempDir()
	next := journalIn(t, dir)
	script := filepath.Join(dir, "calls.star")
	text := "def main(o):\n    return tracepoint(\"raw_syscalls:sys_enter\").by(\"id\").count()\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	result := filepath.Join(dir, "out")
	const other = `mount -t tmpfs none /run && mkdir -p /run/systemd/journal &&
mount --bind "$0" /run/systemd/journal && exec "$@"`
	testkit.Run(t, "unshare", "-m", "sh", "-c", other, dir, testkit.PPScript(t), script, "-o", result,
		"--", "true").Want(t, 0)
	e := next()
	if !slices.Contains(e.Command, script) || len(e.Files) != 1 || e.Files[0].Path != script ||
		len(e.Files[0].SHA256) != 64 || !slices.Equal(e.Target.Command, []string{"true"}) ||
		!slices.Contains(e.Opened, "write "+result) || e.Samples == 0 || e.Error != "" ||
		e.Seconds <= 0 || e.CPUSeconds <= 0 || e.MaxRSS <= 0 || e.UID != 0 {
		t.Errorf("got %+v, want the run", e)
	}
}

// journalIn listens in a directory as systemd's journal does, and returns the next message.
func journalIn(t *testing.T, dir string) (next func() journal.Entry) {
	t.Helper()
	at := &net.UnixAddr{Name: filepath.Join(dir, "socket"), Net: "unixgram"}
	l, err := net.ListenUnixgram("unixgram", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return func() (e journal.Entry) {
		t.Helper()
		if err := l.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1<<18)
		n, err := l.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(string(buf[:n]), "MESSAGE=")
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		return e
	}
}
