package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"ppscript/tests/testkit"
)

// This file runs a fleet at Debian's NATS server, with users that have exactly the permissions in
// docs/fleet.md.

// roles are the subjects to which each participant may publish and subscribe, as in
// docs/fleet.md.
func roles(t *testing.T) (publish, subscribe map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	publish, subscribe = map[string][]string{}, map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.Contains(cells[1], "`") {
			continue
		}
		for subject := range strings.SplitSeq(cells[1], ",") {
			subject = strings.Trim(subject, " `")
			subject = strings.NewReplacer("JOB", "*", "SLOT", "*", "QUERY", "*").Replace(subject)
			for i, to := range []map[string][]string{publish, subscribe} {
				for role := range strings.SplitSeq(cells[2+i], ",") {
					role = strings.TrimSpace(role)
					to[role] = append(to[role], strconv.Quote(subject))
				}
			}
		}
	}
	if len(publish) != 4 || len(publish["agents"]) != 10 || len(subscribe["mergers"]) != 4 {
		t.Fatalf("got %v and %v: has the table of docs/fleet.md another form?", publish, subscribe)
	}
	return publish, subscribe
}

// natsServer starts Debian's server with an account for the participants, and another account. It
// returns the file with the seed of each user.
func natsServer(t *testing.T, p *place) map[string]string {
	t.Helper()
	testkit.Requires(t, testkit.Program("nats-server"))
	publish, subscribe := roles(t)
	seeds := map[string]string{}
	user := func(name string) string {
		key, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		public, _ := key.PublicKey()
		seed, _ := key.Seed()
		seeds[name] = filepath.Join(p.dir, strings.ReplaceAll(name, " ", "-")+".seed")
		if err := os.WriteFile(seeds[name], seed, 0o600); err != nil {
			t.Fatal(err)
		}
		return public
	}
	users := ""
	for who, role := range map[string]string{"hub": "hub", "mergers": "mergers", "the asker": "the asker",
		"a": "agents", "b": "agents"} {
		host := "*"
		if role == "agents" {
			host = who
		}
		may := func(subjects map[string][]string) string {
			return strings.ReplaceAll(strings.Join(subjects[role], ", "), "HOST", host)
		}
		users += fmt.Sprintf("{nkey: %s, permissions: {publish: [%s], subscribe: [%s]}}\n", user(who),
			may(publish), may(subscribe))
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(p.url, "nats://"), ":")
	p.write("nats.conf", fmt.Sprintf("listen: \"127.0.0.1:%s\"\njetstream {store_dir: %q}\naccounts {\n"+
		"FLEET {jetstream: enabled, users: [\n%s]}\nOTHER {users: [{nkey: %s}]}\n}\n", port, t.TempDir(),
		users, user("other")))
	testkit.StartFor(t, time.Minute, "nats-server", "-c", filepath.Join(p.dir, "nats.conf")).
		WaitStderr("Server is ready")
	return seeds
}

// With Debian's NATS server, accounts and the documented permissions, a fleet counts correctly. A
// client with fewer permissions, or of another account, cannot ask.
func TestAccountsAndPermissions(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Live...)
	p := prepare(t)
	p.url = "nats://" + freePort(t)
	p.lengthen() // so that it is sent through JetStream
	seeds := natsServer(t, p)
	run := testkit.PPScript(t)
	testkit.StartFor(t, time.Minute, run, "hub", "--hub", p.url, "--no-merger", "--nkey", seeds["hub"]).
		WaitStderr("the hub is at")
	testkit.StartFor(t, time.Minute, run, "merger", "--hub", p.url, "--nkey", seeds["mergers"]).
		WaitStderr("merger ")
	agents := map[string]*testkit.Process{}
	for _, name := range []string{"a", "b"} {
		agents[name] = testkit.StartFor(t, time.Minute, slices.Concat([]string{run}, p.agent(name),
			[]string{"--nkey", seeds[name]})...)
	}
	// A client with the rights of a cannot be c.
	liar := testkit.StartFor(t, time.Minute, slices.Concat([]string{run}, p.agent("c"),
		[]string{"--nkey", seeds["a"]})...)
	liar.WaitStderr("the server does not let this agent publish as c")
	p.await(2, "--nkey", seeds["the asker"])
	const calls = 1000
	target := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
	asked := p.ask(target, "--nkey", seeds["the asker"], "--parts", "1", "--late", "8s")
	asked.WaitStdout(`"told":2`)
	target.Do()
	seen := strings.Count(asked.Stdout(), `"told":2`)
	asked.Await("windows", func(out string) bool { return strings.Count(out, `"told":2`) > seen+2 })
	asked.Signal(syscall.SIGINT)
	out := asked.Wait()
	if n := counted(t, out); n != 2*calls {
		t.Errorf("got %d calls, want %d: %s", n, 2*calls, out.Stderr)
	}
	for _, who := range []string{"a", "other", "mergers"} {
		out := p.ask(target, "--nkey", seeds[who]).Wait()
		if out.Exit == 0 || strings.Contains(out.Stderr, "runs on") ||
			!strings.Contains(out.Stderr, "hint: ") {
			t.Errorf("%s: got %d, %s", who, out.Exit, out.Stderr)
		}
	}
	for name, a := range agents {
		if text := a.Stop().Stderr; strings.Contains(text, "ermission") {
			t.Errorf("agent %s may do less than it must: %s", name, text)
		}
	}
	if strings.Contains(out.Stderr, "ermission") {
		t.Errorf("the asker may do less than he must: %s", out.Stderr)
	}
}

// lengthen makes the script longer than the largest message.
func (p *place) lengthen() {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "source.star"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.write("source.star", string(text)+strings.Repeat("# a line of a long script\n", 40_000))
	p.sign()
}

// A script that is too long for a message is sent through the object store of a server with
// JetStream, and runs as it was signed. Without JetStream, the asker gets an error.
func TestLongScriptsTravelByJetStream(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, append(slices.Clone(testkit.Live), testkit.Program("nats-server"))...)
	for _, store := range []bool{true, false} {
		p := prepare(t)
		at := freePort(t)
		p.url = "nats://" + at
		config := fmt.Sprintf("listen: %q\n", at)
		if store {
			config += fmt.Sprintf("jetstream {store_dir: %q}\n", t.TempDir())
		}
		p.write("nats.conf", config)
		p.lengthen()
		testkit.StartFor(t, time.Minute, "nats-server", "-c", filepath.Join(p.dir, "nats.conf")).
			WaitStderr("Server is ready")
		testkit.StartFor(t, time.Minute, testkit.PPScript(t), "hub", "--hub", p.url).
			WaitStderr("the hub is at")
		p.start("a")
		const calls = 500
		target := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
		run := p.ask(target)
		if !store {
			if out := run.Wait(); out.Exit == 0 || !strings.Contains(out.Stderr, "too many for a message") ||
				!strings.Contains(out.Stderr, "hint: use a NATS cluster with JetStream") {
				t.Errorf("got %d, %s", out.Exit, out.Stderr)
			}
			continue
		}
		run.WaitStdout(`"told":1`)
		target.Do()
		run.WaitStdout(`"count":` + strconv.Itoa(calls))
		run.Signal(syscall.SIGINT)
		run.Wait()
	}
}
