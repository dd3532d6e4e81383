package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/runtime/text/diag"
)

// keyring makes a key in a directory, and a file of signers that has it.
func keyring(t *testing.T) (secret, signers string) {
	t.Helper()
	dir := t.TempDir()
	secret, signers = filepath.Join(dir, "ops"), filepath.Join(dir, "ops.pub")
	if _, err := sign.NewKey(secret); err != nil {
		t.Fatal(err)
	}
	return secret, signers
}

// signed writes a script with the files that it loads, signs them, and makes a bundle.
func signed(t *testing.T, secret string, files map[string]string) *Bundle {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a", "b")
	key, err := sign.ReadSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(dir, "main.star")
	sums, texts := map[string]sign.Sum{}, map[string][]byte{}
	for name, text := range files {
		full := name
		if strings.Contains(name, "@") {
			texts[name] = []byte(text)
		} else {
			full = filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		sums[full] = sha256.Sum256([]byte(text))
	}
	text, err := key.Sign(main, sums)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(main+sign.Suffix, text, 0o644); err != nil {
		t.Fatal(err)
	}
	b, err := NewBundle(main, sums, texts,
		map[string]string{"git.example.com/lib//x.star": "git.example.com/lib@v1.2.0//x.star"})
	if err == nil {
		err = b.Vouch(main)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var tree = map[string]string{
	"main.star": "one", "sub/two.star": "two", "../three.star": "three",
	"git.example.com/lib@v1.2.0//x.star": "four",
}

// A script arrives with the bytes that were signed, also those of its library.
func TestBundlesTravel(t *testing.T) {
	secret, signers := keyring(t)
	b := signed(t, secret, tree)
	var sent Bundle
	if err := json.Unmarshal(must(b), &sent); err != nil {
		t.Fatal(err)
	}
	dir, by, err := sent.unpack(signers)
	if err != nil || by.Name != "ops" {
		t.Fatal(err, by)
	}
	defer os.RemoveAll(dir)
	main, resolve, err := OpenBundle(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"main.star": "one", "sub/two.star": "two",
		"../three.star": "three"} {
		path := filepath.Join(filepath.Dir(main), name)
		if got, err := os.ReadFile(path); err != nil || string(got) != want ||
			!strings.HasPrefix(path, dir) {
			t.Errorf("%s: got %q, %v, at %s", name, got, err, path)
		}
	}
	name, src, err := resolve("git.example.com/lib//x.star", main)
	if err != nil || string(src) != "four" || name != "git.example.com/lib@v1.2.0//x.star" {
		t.Errorf("got %s %q, %v", name, src, err)
	}
	if _, _, err := resolve("git.example.com/lib//y.star", main); err == nil || diag.HintOf(err) == "" {
		t.Errorf("a file that did not travel: got %v", err)
	}
}

// What nobody signed, what was changed by a byte, and what leads elsewhere does not run, and leaves nothing.
func TestBundlesThatAreRefused(t *testing.T) {
	secret, signers := keyring(t)
	_, others := keyring(t)
	t.Setenv("TMPDIR", t.TempDir())
	f := func(want, signers string, change func(b *Bundle)) {
		t.Helper()
		b := signed(t, secret, tree)
		change(b)
		dir, _, err := b.unpack(signers)
		if err == nil || !strings.Contains(err.Error(), want) || diag.HintOf(err) == "" {
			t.Errorf("got %q, %v, want %q", dir, err, want)
		}
	}
	f("not among the 1 keys", others, func(*Bundle) {})
	f("changed after ops signed it", signers, func(b *Bundle) { b.Files["main.star"] = []byte("onE") })
	f("sub/two.star: it was changed after ops signed it", signers, func(b *Bundle) {
		b.Files["sub/two.star"][0]++
	})
	f("x.star: it was changed after ops signed it", signers, func(b *Bundle) {
		b.Files["git.example.com/lib@v1.2.0//x.star"][0]++
	})
	f("does not cover this file; it covers 3 others", signers, func(b *Bundle) {
		b.Files["more.star"] = []byte("x")
	})
	f("the signature file was changed", signers, func(b *Bundle) {
		b.Signature = bytes.Replace(b.Signature,
			[]byte("sub"), []byte("sup"), 1)
	})
	f("no signature of a script", signers, func(b *Bundle) { b.Signature = nil })
	f("leads out of", signers, func(b *Bundle) { b.Files["/etc/x"] = nil })
	f("leads out of", signers, func(b *Bundle) { b.Files["a/../../x"] = nil })
	f("leads out of", signers, func(b *Bundle) { b.Files[strings.Repeat("../", 17)+"x"] = nil })
	f("no name of a file", signers, func(b *Bundle) { b.Files[".."] = nil })
	f("missing", signers, func(b *Bundle) { b.Main = "../main.star" })
	f("files of", signers, func(b *Bundle) { b.Files["sub/two.star"] = make([]byte, mostBytes) })
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "ppscript-job-*")); err != nil ||
		len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := (&Bundle{}).Vouch("/nowhere/x.star"); err == nil ||
		!strings.Contains(err.Error(), "nobody signed it") {
		t.Errorf("got %v", err)
	}
}

func TestPolicyPermits(t *testing.T) {
	p, err := ParsePolicy("P", `
allow syscalls --than=1ms..1s --cpus=0..3   # and no others
allow kvm-* --*
allow signed=ops --*
max-duration 10m
max-rows 1000
min-interval 1s
max-memory 128m
max-jobs 2
max-cpu 20%
`)
	if err != nil {
		t.Fatal(err)
	}
	f := func(j Job, by, want string) {
		t.Helper()
		err := p.Permit(&j, sign.Key{Name: by, Public: make([]byte, 32)})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(),
			want) ||
			diag.HintOf(err) == "") {
			t.Errorf("%s: got %v, want %q", j.String(), err, want)
		}
	}
	job := func(name string, options ...string) Job {
		j := Job{Request: Request{Name: name}}
		for i := 0; i < len(options); i += 2 {
			j.Options = append(j.Options, Option{Name: options[i], Values: options[i+1 : i+2]})
		}
		return j
	}
	f(job("syscalls"), "", "")
	f(job("syscalls", "than", "5ms", "cpus", "1,2"), "", "")
	f(job("syscalls", "than", "5us"), "", `P:2 does not allow the value "5us"`)
	f(job("syscalls", "pids", "1"), "", "--pids: P:2 does not allow it")
	f(job("kvm-exit", "pids", "1"), "", "")
	f(job("profile"), "", "no line of the host's P allows it")
	travels := job("x.star", "a", "b")
	travels.Bundle = &Bundle{}
	f(travels, "ops", "")
	f(travels, "eve", "no line")
	l := Limits{Jobs: 4, Duration: time.Hour, Interval: time.Millisecond, Memory: "256m", CPU: 100,
		Waiting: 1}
	p.Bound(&l)
	if want := (Limits{Jobs: 2, Duration: 10 * time.Minute, Interval: time.Second, Memory: "128m",
		Rows: 1000,
		CPU:  20, Waiting: 1}); l != want {
		t.Errorf("got %+v, want %+v", l, want)
	}
	for text, want := range map[string]string{
		"alow x": "no such line", "allow": "no value", "allow x y": "got y", "max-cpu 3": "no %",
		"max-duration 0s": "more than 0", "max-jobs many": "invalid", "signers a b": "want one",
		"allow x --allow=*": "cannot be allowed",
	} {
		if _, err := ParsePolicy("P", text); err == nil || !strings.Contains(err.Error(), want) ||
			diag.HintOf(err) == "" {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// Where a policy names who may ask, jobs run that he signed, now, and once.
func TestOnlyNamedAskersAreAnswered(t *testing.T) {
	secret, signers := keyring(t)
	other, _ := keyring(t)
	p := hub(t, "127.0.0.1:0")
	a, _ := p.agent("a", func(a *Agent) {
		a.Policy = &Policy{Path: "P", Signers: signers, Askers: []string{"ops"}}
	})
	p.waitForHosts(1)
	ask := func(key string) string {
		to := &answers{}
		err := p.ask(context.Background(), "1", to, func(a *Asker) { a.Key = key })
		if err != nil {
			return err.Error() + to.String()
		}
		calls, _, _ := to.total(t)
		if calls != 10 {
			t.Errorf("got %d calls, want 10", calls)
		}
		return ""
	}
	if got := ask(""); !strings.Contains(got, "nobody signed the job") {
		t.Errorf("got %s", got)
	}
	if got := ask(other); !strings.Contains(got, "not among the 1 keys") {
		t.Errorf("got %s", got)
	}
	if got := ask(secret); got != "" {
		t.Errorf("got %s", got)
	}
	s := Server{URL: p.url}
	nc, err := s.connect("test", "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	send := func(j Job, change func(m *nats.Msg)) string {
		m := nats.NewMsg(jobSubject)
		m.Data = must(j)
		if err := (&Asker{Key: secret}).sign(m); err != nil {
			t.Fatal(err)
		}
		change(m)
		answer, err := request(nc, m, j.ID, 3*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer.Data)
	}
	j := Job{ID: "x", Request: Request{Name: "1"}, At: time.Now()}
	same := func(*nats.Msg) {}
	f := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) || want == "" && strings.Contains(got, "error") {
			t.Errorf("got %s, want %q", got, want)
		}
	}
	f(send(j, func(m *nats.Msg) { m.Data = bytes.Replace(m.Data, []byte(`"1"`), []byte(`"2"`), 1) }),
		"changed after ops signed it")
	f(send(j, same), "")
	f(send(j, same), "was sent before")
	j.ID, j.At = "y", time.Now().Add(-time.Hour)
	f(send(j, same), "which is too long ago")
	// What an agent has heard it forgets when it ends: the next one takes nothing of its time.
	j.ID, j.At = "z", a.began.Add(-time.Second)
	f(send(j, same), "before the agent began")
}

// A server with accounts by nkey lets in the owner of the key.
func TestServersKnowNKeys(t *testing.T) {
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT,
		NoSigs: true, NoLog: true,
		Nkeys: []*server.NkeyUser{{Nkey: public, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{prefix + ">", "_INBOX.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{prefix + ">", "_INBOX.>"}},
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(5 * time.Second) {
		t.Fatal("the server does not begin")
	}
	file := filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	without := Server{URL: s.ClientURL()}
	if nc, err := without.connect("test", "", false); err == nil {
		nc.Close()
		t.Error("it lets in who has no key")
	} else if !strings.Contains(diag.HintOf(err), "--nkey") {
		t.Errorf("got %v, %s", err, diag.HintOf(err))
	}
	with := Server{URL: s.ClientURL(), NKey: file}
	nc, err := with.connect("test", "", false)
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

// A process that takes more of a CPU than it may is ended.
func TestCPUTimeIsBounded(t *testing.T) {
	w := cpuWatch{most: 50}
	now := time.Now()
	if err := w.check(os.Getpid(), now); err != nil {
		t.Fatal(err)
	}
	if err := w.check(os.Getpid(), now.Add(5*time.Second)); err != nil {
		t.Fatal(err) // it is too early to say
	}
	w.before -= 4 * time.Second
	if err := w.check(os.Getpid(), now.Add(cpuTime)); err != nil {
		t.Errorf("40 %%: got %v", err)
	}
	w.before -= 9 * time.Second
	if err := w.check(os.Getpid(), now.Add(2*cpuTime)); err == nil || !strings.Contains(err.Error(),
		"may take 50%") {
		t.Errorf("90 %%: got %v", err)
	}
}

// What an agent adds cannot become the value of an option of the asker, or an argument of a command.
func TestArgumentsAreTheLastWords(t *testing.T) {
	q := Request{Name: "syscalls", Args: []string{"/usr/bin/env", "true"},
		Options: []Option{{Name: "cgroups", Bare: true, Values: []string{""}}}}
	j := &job{agent: &Agent{}, Job: Job{Request: q}}
	const want = "syscalls --look-only --cgroups /usr/bin/env true"
	if got := strings.Join(j.arguments("--look-only"), " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The stricter of what the machine and the asker say counts, whatever of several values that is.
func TestBoundsOfOptions(t *testing.T) {
	p, err := ParsePolicy("P", "max-budget 2%\nmax-rows 100\n")
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{Policy: p}
	p.Bound(&a.Limits)
	f := func(want string, options ...string) {
		t.Helper()
		j := &job{agent: a, Job: Job{Request: Request{Name: "syscalls"}}}
		for _, o := range options {
			name, value, _ := strings.Cut(o, "=")
			j.Options = append(j.Options, Option{Name: name, Values: []string{value}})
		}
		if got := strings.Join(j.arguments(), " "); got != want {
			t.Errorf("%v: got %s, want %s", options, got, want)
		}
	}
	f("syscalls --max-rows=100 --budget=2%")
	f("syscalls --budget=1% --max-rows=100", "budget=1%")
	f("syscalls --budget=2% --max-rows=100", "budget=3%")
	f("syscalls --budget=2% --max-rows=100", "budget=off")
	f("syscalls --max-rows=10 --max-rows=100 --budget=2%", "max-rows=10", "max-rows=1000")
	a.Limits = Limits{}
	f("syscalls --budget=off", "budget=off")
	f("syscalls")
	for _, line := range []string{"max-budget off", "max-budget 200%", "max-budget some"} {
		if _, err := ParsePolicy("P", line); err == nil {
			t.Errorf("%s is taken", line)
		}
	}
	q := Request{Name: "syscalls", Options: []Option{{Name: "budget", Values: []string{"7"}}}}
	yes := func(string) bool { return true }
	if err := q.Check(yes, yes); err == nil {
		t.Error("a budget of 700% is taken")
	}
}
