package vm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// Hosts with three kernels, of both architectures, answer a question together: each call of a
// program in any of them is counted once.
func TestFleetOfGuests(t *testing.T) {
	t.Parallel()
	const calls = 700
	kinds := []Guest{
		{Arch: "amd64", Kernel: "5.10"}, {Arch: "amd64", Kernel: "6.12"}, {Arch: "arm64", Kernel: "6.1"},
	}
	for i := range kinds {
		g := &kinds[i]
		if missing := Missing(g.Arch); len(missing) > 0 {
			unable(t)("guests need the Debian packages %s", strings.Join(missing, " "))
		}
		g.Network, g.MemoryMiB, g.Timeout = true, 512, 4*time.Minute
		g.Files = map[string]string{
			"/w/ppscript": build(t, g.Arch, "cmd/ppscript"),
			"/w/load":     build(t, g.Arch, "tests/testkit/load"),
		}
		if _, err := prepare(t.Context(), *g); err != nil {
			unable(t)("%v", err)
		}
	}
	hub := freeAddr(t)
	url := "nats://" + hub
	run := build(t, "amd64", "cmd/ppscript")
	testkit.StartFor(t, 10*time.Minute, run, "hub", "--listen", hub).WaitStderr("the hub is at")

	// A guest waits for a signal, makes its calls, and stays until all results have
	// arrived.
	first, last := listen(t), listen(t)
	defer room.take(3 * kinds[0].sizeMiB())() // for all guests at once, to avoid a deadlock
	type ended struct {
		of  Guest
		r   Result
		err error
		out *bytes.Buffer
	}
	ends := make(chan ended)
	for _, g := range kinds {
		name := g.Arch + "-" + strings.ReplaceAll(g.Kernel, ".", "-")
		go func() {
			out := &bytes.Buffer{}
			r, err := Boot(t.Context(), g, fmt.Sprintf(`
ppscript agent --hub nats://10.0.2.2:%s --name %s --label kind=guest & agent=$!
nc 10.0.2.2 %s </dev/null
load -getppid %d
nc 10.0.2.2 %s </dev/null
kill $agent
wait $agent`, portOf(hub), name, portOf(first.Addr().String()), calls, portOf(last.Addr().String())), out)
			ends <- ended{g, r, err, out}
		}()
	}
	left := len(kinds)
	fail := func(format string, args ...any) {
		t.Helper()
		first.Close()
		last.Close()
		for ; left > 0; left-- {
			e := <-ends
			t.Logf("%s %s: %v, status %d\n%s\n%s", e.of.Arch, e.of.Kernel, e.err, e.r.Status, e.out.Bytes(),
				tail(e.r.Console, 20))
		}
		t.Fatalf(format, args...)
	}
	started, err := meet(first, len(kinds))
	if err != nil {
		fail("guests that wait to begin: %v", err)
	}
	type host struct{ Host, Kernel, Arch string }
	var hosts []host
	for end := time.Now().Add(2 * time.Minute); len(hosts) < len(kinds); {
		time.Sleep(200 * time.Millisecond)
		hosts = nil
		out := testkit.Run(t, run, "fleet", "hosts", "--json", "--hub", url)
		for line := range strings.Lines(out.Stdout) {
			var h host
			if err := json.Unmarshal([]byte(line), &h); err != nil {
				fail("got %q: %v", line, err)
			}
			hosts = append(hosts, h)
		}
		if len(hosts) < len(kinds) && time.Now().After(end) {
			fail("got hosts %s%s, want %d", out.Stdout, out.Stderr, len(kinds))
		}
	}
	for _, g := range kinds {
		if !slices.ContainsFunc(hosts, func(h host) bool {
			return strings.HasPrefix(h.Kernel, g.Kernel) && h.Arch == g.Arch
		}) {
			t.Errorf("got hosts %+v, want one with %s of %s", hosts, g.Kernel, g.Arch)
		}
	}

	ask := testkit.StartFor(t, 5*time.Minute, run, "fleet", "run", "--hub", url, "-l", "kind=guest",
		"-i", "1s", "--late", "60s", "--keep", "3m", "--by", "host", "--budget", "off", "top", "--only-comm",
		"-e", `syscalls:sys_enter_getppid/comm == "load-0"/alias=getppid/`, "--format", "json")
	ask.WaitStderr("runs on 3 hosts")
	ask.WaitStdout(`"told":3`)
	for _, c := range started {
		_ = c.Close()
	}
	done, err := meet(last, len(kinds))
	if err != nil {
		fail("guests that made their calls: %v", err)
	}
	told := strings.Count(ask.Stdout(), `"told":3`)
	ask.Await("two more intervals of all hosts", func(stdout string) bool {
		return strings.Count(stdout, `"told":3`) >= told+2
	})
	ask.Signal(syscall.SIGINT)
	out := ask.Wait()
	for _, c := range done {
		_ = c.Close()
	}
	for ; left > 0; left-- {
		if e := <-ends; e.err != nil {
			t.Errorf("%s %s: %v\n%s\n%s", e.of.Arch, e.of.Kernel, e.err, e.out.Bytes(), tail(e.r.Console, 20))
		}
	}
	by := map[string]int64{}
	for _, table := range testkit.Tables(t, out.Stdout) {
		for _, row := range table.Rows {
			by[row.Text(t, "host")] += row.Int(t, "GETPPID")
		}
	}
	if len(by) != len(kinds) {
		t.Errorf("got rows of %v, want three hosts: %s\n%s", by, out.Stdout, out.Stderr)
	}
	for name, n := range by {
		if n != calls {
			t.Errorf("%s: got %d calls, want %d", name, n, calls)
		}
	}
}

func unable(t *testing.T) func(string, ...any) {
	if os.Getenv(requireEnv) == "require" {
		return t.Fatalf
	}
	return t.Skipf
}

func freeAddr(t *testing.T) string {
	l := listen(t)
	defer l.Close()
	return l.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// meet waits until this many have connected. Guests are slow if other processes
// use the CPUs.
func meet(l net.Listener, n int) (all []io.Closer, err error) {
	for range n {
		if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(4 * time.Minute)); err != nil {
			return all, err
		}
		c, err := l.Accept()
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}
