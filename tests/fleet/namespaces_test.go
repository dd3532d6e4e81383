package fleet_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// A network is a bridge with hosts, each in a network namespace of its own. The bridge, the hub and
// the asker are in another namespace. Processes hold the namespaces, so nothing is left however the
// test ends.
type network struct {
	*place
	bridge  int // pid of the process whose namespace has the bridge
	holders []int
	address string // address of the hub
}

// hostsOf returns the number of hosts: FLEET_HOSTS, or a small number, because each host runs
// processes for its jobs.
func hostsOf(t *testing.T) int {
	text := os.Getenv("FLEET_HOSTS")
	if text == "" {
		return 8
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 6 || n > 200 {
		t.Fatalf("FLEET_HOSTS: got %q, want 6 to 200", text)
	}
	return n
}

// hold makes a network namespace, which exists no longer than the test.
func hold(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("unshare", "--net", "--", "cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	own, _ := os.Readlink("/proc/self/ns/net")
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid))
		if err == nil && its != own {
			return cmd.Process.Pid
		}
		if time.Now().After(end) {
			t.Fatal("unshare --net makes no namespace")
		}
	}
}

// within returns the words that run a command in a namespace. "ip netns exec" would mount another
// /sys, without tracefs.
func within(holder int, words ...string) []string {
	return append([]string{"nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", holder), "--"}, words...)
}

// namespaces checks that this machine supports network namespaces.
func namespaces() error {
	for _, name := range []string{"ip", "nsenter", "unshare"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("apt-get install iproute2 util-linux: %w", err)
		}
	}
	const try = "ip link add name br0 type bridge && ip link add name v0 type veth peer name v1"
	if out, err := exec.Command("unshare", "--net", "--", "sh", "-c", try).CombinedOutput(); err != nil {
		return fmt.Errorf("network namespaces, bridges and veth: %s", strings.TrimSpace(string(out)))
	}
	return nil
}

func beginNetwork(t *testing.T, hosts int) *network {
	t.Helper()
	testkit.Requires(t, append(slices.Clone(testkit.Live),
		testkit.Optional("network namespaces", namespaces()))...)
	n := &network{place: prepare(t), bridge: hold(t), address: "10.0.0.1"}
	n.write("token", "a secret of hosts\n")
	if err := os.Chmod(filepath.Join(n.dir, "token"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.url = "nats://" + n.address + ":4222"
	batch := "link add name br0 type bridge\naddress add " + n.address + "/16 dev br0\n" +
		"link set br0 up\nlink set lo up\n"
	for i := range hosts {
		n.holders = append(n.holders, hold(t))
		batch += fmt.Sprintf("link add name v%d type veth peer name eth0 netns %d\n", i, n.holders[i]) +
			fmt.Sprintf("link set v%d master br0 up\n", i)
	}
	n.ip(batch)
	n.within(n.bridge, "hub", "--listen", n.address+":4222", "--token-file", filepath.Join(n.dir, "token")).
		WaitStderr("the hub is at")
	return n
}

// ip runs the ip command in the namespace of the bridge.
func (n *network) ip(batch string) {
	n.t.Helper()
	n.write("batch", batch)
	testkit.Run(n.t, within(n.bridge, "ip", "-batch", filepath.Join(n.dir, "batch"))...).Want(n.t, 0)
}

// within starts ppscript in a namespace.
func (n *network) within(holder int, words ...string) *testkit.Process {
	n.t.Helper()
	return testkit.StartFor(n.t, 4*time.Minute, within(holder, append([]string{testkit.PPScript(n.t)},
		words...)...)...)
}

func hostName(i int) string { return fmt.Sprintf("host%02d", i) }

// startHost starts the agent of a host, also after an earlier one ended.
func (n *network) startHost(i int) {
	n.t.Helper()
	const script = `ip link set lo up && ip address replace 10.0.1.$1/16 dev eth0 && ip link set eth0 up &&
		shift && exec "$@"`
	words := append([]string{"sh", "-c", script, "sh", strconv.Itoa(i + 1), testkit.PPScript(n.t)},
		append(n.agent(hostName(i)), "--token-file", filepath.Join(n.dir, "token"))...)
	n.agents[hostName(i)] = testkit.StartFor(n.t, 4*time.Minute, within(n.holders[i], words...)...)
}

// askHosts begins a run about a process.
func (n *network) askHosts(target *testkit.Target, options ...string) *testkit.Process {
	n.t.Helper()
	return n.within(n.bridge, slices.Concat([]string{"fleet", "run", "--hub", n.url, "--token-file",
		filepath.Join(n.dir, "token"), "--by", "host", "--budget", "off"}, options,
		[]string{filepath.Join(n.dir, "count.star"), "--of", strconv.Itoa(target.PID()),
			"--format", "json"})...)
}

// named returns the hosts that a run names because something of them is
// missing.
func named(t *testing.T, out testkit.Output) map[string]bool {
	t.Helper()
	of := map[string]bool{}
	type hosts struct{ Missing, Late, Ended []string }
	for _, told := range testkit.All[hosts](t, out.Stdout, "hosts") {
		for _, name := range slices.Concat(told.Missing, told.Late, told.Ended) {
			of[name] = true
		}
	}
	return of
}

// Agents on hosts with networks of their own count the calls of one process, and a run without a
// fleet counts them too. Then one agent is killed, one is frozen for a while, one is disconnected
// for a while and one is restarted, while the calls go on. A run with a single result has all calls
// of the hosts that came back, and names the others. A run with intervals names each host that
// lacks something.
func TestHostsWithNetworksOfTheirOwn(t *testing.T) {
	hosts := hostsOf(t)
	n := beginNetwork(t, hosts)
	for i := range hosts {
		n.startHost(i)
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out := testkit.Run(t, within(n.bridge, testkit.PPScript(t), "fleet", "hosts", "--json", "--hub",
			n.url, "--token-file", filepath.Join(n.dir, "token"))...)
		if strings.Count(out.Stdout, "\n") == hosts {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("got hosts %s%s, want %d", out.Stdout, out.Stderr, hosts)
		}
	}
	const calls = 1000
	target := testkit.StartTargetFor(t, 4*time.Minute, "-getppid", strconv.Itoa(calls))
	alone := testkit.StartFor(t, 4*time.Minute, testkit.PPScript(t), filepath.Join(n.dir, "count.star"),
		"--of", strconv.Itoa(target.PID()), "--format", "json", "-i", "250ms")
	whole := n.askHosts(target)
	windows := n.askHosts(target, "-i", "500ms", "--late", "400ms")
	all := fmt.Sprintf("runs on %d hosts", hosts)
	whole.WaitStderr(all)
	windows.WaitStderr(all)
	told := fmt.Sprintf(`"told":%d,"of":%d`, hosts, hosts)
	windows.WaitStdout(told)
	alone.WaitStdout("table")
	n.awaitJobs(2)

	target.Do()
	more := func(count int) {
		t.Helper()
		seen := strings.Count(windows.Stdout(), `"told":`)
		windows.Await("more windows", func(out string) bool {
			return strings.Count(out, `"told":`) >= seen+count
		})
	}
	more(3)

	const killed, frozen, cut, anew = 0, 1, 2, 3
	n.agents[hostName(killed)].Signal(syscall.SIGKILL)
	n.agents[hostName(frozen)].Suspend()
	n.ip(fmt.Sprintf("link set v%d down\n", cut))
	n.agents[hostName(anew)].Stop()
	n.startHost(anew)
	target.Do()
	more(3)
	n.agents[hostName(frozen)].Signal(syscall.SIGCONT)
	n.ip(fmt.Sprintf("link set v%d up\n", cut))
	windows.Await("the host that was cut off", func(string) bool {
		out := windows.Stdout()
		last := out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]
		return strings.Contains(last, `"told"`) && !strings.Contains(last, hostName(cut)+`"`) ||
			strings.Contains(out, `"late":[`) && strings.Contains(out, hostName(cut))
	})

	for _, run := range []*testkit.Process{alone, windows, whole} {
		run.Signal(syscall.SIGINT)
	}
	local := counted(t, alone.Wait())
	if local != 2*calls {
		t.Errorf("alone: got %d calls, want %d", local, 2*calls)
	}
	out := whole.Wait()
	by, gaps := counts(t, out.Stdout), named(t, out)
	for i := range hosts {
		name, want := hostName(i), local
		if i == killed || i == anew {
			want = by[name]
			if !gaps[name] || want > calls {
				t.Errorf("whole: got %d calls of %s, which is not named: %s", want, name, out.Stderr)
			}
		}
		if by[name] != want || i > anew && gaps[name] {
			t.Errorf("whole: %s: got %d calls, want %d: %s", name, by[name], want, out.Stderr)
		}
	}
	out = windows.Wait()
	by, gaps = counts(t, out.Stdout), named(t, out)
	for i := range hosts {
		if name := hostName(i); by[name] != local && (!gaps[name] || by[name] > local) {
			t.Errorf("windows: %s: got %d calls, want %d: %s", name, by[name], local, out.Stderr)
		} else if (i == killed || i == anew) && by[name] != calls {
			t.Errorf("windows: %s: got %d calls, want those before it went, %d: %s", name, by[name], calls,
				out.Stderr)
		}
	}
	t.Logf("%d hosts; of windows: %d calls by %s, %d by %s", hosts, by[hostName(frozen)], hostName(frozen),
		by[hostName(cut)], hostName(cut))
}

// awaitJobs waits until each host runs this many jobs.
func (n *network) awaitJobs(count int) {
	n.t.Helper()
	for _, p := range n.agents {
		for end := time.Now().Add(time.Minute); len(jobs(p.PID())) != count; {
			time.Sleep(20 * time.Millisecond)
			if time.Now().After(end) {
				n.t.Fatalf("got %d jobs of a host, want %d", len(jobs(p.PID())), count)
			}
		}
	}
}
