package fleet

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/runtime/output/render"
	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/session"
	"ppscript/runtime/source/identity"
)

// Each name has one word, and each word one name at most.
func TestWordsOfNames(t *testing.T) {
	f := func(name, word string) {
		t.Helper()
		if got := wordOf(name); got != word || nameOf(word) != name {
			t.Errorf("%q: got %q, and back %q, want %q", name, got, nameOf(got), word)
		}
	}
	f("web1", "web1")
	f("db-1.example.com", "db-1=2eexample=2ecom")
	f("a*b>c =", "a=2ab=3ec=20=3d")
	f("ü", "=c3=bc")
	for _, word := range []string{"", "=", "=2", "=zz", "=2E", "=61", "a.b", "=0a", "a b",
		strings.Repeat("a", 256)} {
		if got := nameOf(word); got != "" {
			t.Errorf("%q: got the name %q, want none", word, got)
		}
	}
}

// certified are options of a client with a certificate.
func certified(t *testing.T, pair []byte) nats.Option {
	t.Helper()
	own, err := tls.X509KeyPair(pair, pair)
	if err != nil {
		t.Fatal(err)
	}
	// That of the server is not what is tested.
	return nats.Secure(&tls.Config{Certificates: []tls.Certificate{own}, InsecureSkipVerify: true})
}

// The credentials of one host let a client be that host, and no other: not in the list of the hub, and not in
// the answers to the asker. With those of a host nobody asks, or hears of the others.
func TestOneCredentialIsOneHost(t *testing.T) {
	const secret, many = "the secret of the hub", 2000
	now := time.Now()
	certify := func(name string, by []byte) (secret, public []byte) {
		secret, public, err := identity.Make(identity.CertRequest{Name: name, Valid: time.Hour,
			Authority: by == nil, By: by}, now)
		if err != nil {
			t.Fatal(err)
		}
		return secret, public
	}
	authority, ca := certify("fleet", nil)
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	hubPair, _ := certify("hub", authority)
	web, _ := certify("web1", authority)
	ops, _ := certify("ops", authority)
	tlsHub := &Hub{Listen: "127.0.0.1:0", NoMerger: true, Cert: file("hub.key", hubPair),
		Key: file("hub.key", hubPair), CA: file("ca.crt", ca)}
	byToken := &Hub{Listen: "127.0.0.1:0", NoMerger: true, Server: Server{token: secret}}
	for _, x := range []struct {
		name      string
		hub       *Hub
		host, ops []nats.Option
		mayAsk    bool // it can do all but be another host
	}{
		{"token of a host", byToken, []nats.Option{nats.Token(HostToken(secret, "web1")),
			nats.UserInfo("eve", "")}, []nats.Option{nats.Token(secret)}, false},
		{"token of all", byToken, []nats.Option{nats.Token(secret), nats.UserInfo("web1", "")},
			[]nats.Option{nats.Token(secret)}, true},
		{"certificate", tlsHub, []nats.Option{certified(t, web), nats.UserInfo("eve", "")},
			[]nats.Option{certified(t, ops)}, true},
		{"nothing", &Hub{Listen: "127.0.0.1:0", NoMerger: true}, []nats.Option{nats.UserInfo("web1", "")},
			nil, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			own := *x.hub // each runs once
			p := hubOf(t, &own)
			dial := func(options ...nats.Option) *nats.Conn {
				refused := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
				nc, err := nats.Connect(p.url, append(options, refused)...)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(nc.Close)
				return nc
			}
			ops, eve := dial(x.ops...), dial(append(x.host, nats.CustomInboxPrefix(inboxOf("web1")))...)
			heard, err := ops.SubscribeSync(prefix + ">")
			if err != nil {
				t.Fatal(err)
			}
			spied, err := eve.SubscribeSync(partSubject + "*.*")
			if err != nil {
				t.Fatal(err)
			}
			if err := ops.Flush(); err != nil {
				t.Fatal(err)
			}
			for i := range many {
				name := fmt.Sprint("made-up", i)
				if i == 0 {
					name = "web1"
				}
				for _, subject := range []string{beatSubject, answerSubject + "j.", clockSubject + "j.",
					runningSubject + "q.", partSubject + "j.", endSubject + "j.", mergeSubject + "1.j."} {
					_ = eve.Publish(subject+name, must(Host{Name: name}))
				}
				_ = eve.Publish(beatSubject+"web1", must(Host{Name: name}))
			}
			_ = eve.Publish(jobSubject, must(Job{ID: "j"}))
			_ = eve.Publish(sumSubject+"j", nil)
			_ = eve.Publish("_INBOX.x", nil)
			if err := eve.Flush(); err != nil {
				t.Fatal(err)
			}
			_ = ops.Publish(partSubject+"j.nobody", nil)
			list, known, err := hosts(context.Background(), ops, nil)
			if err != nil || !known || len(list) != 1 || list[0].Name != "web1" {
				t.Errorf("the hub knows %d hosts, %v, want web1", len(list), err)
			}
			asked := false
			for {
				m, err := heard.NextMsg(10 * time.Millisecond)
				if err != nil {
					break
				}
				switch {
				case m.Subject == jobSubject || m.Subject == sumSubject+"j":
					asked = true
				case m.Subject != hostsSubject && speaker(m.Subject) != "web1":
					t.Fatalf("it spoke at %s", m.Subject)
				}
			}
			if asked != x.mayAsk {
				t.Errorf("asked: %v, want %v", asked, x.mayAsk)
			}
			if _, err := spied.NextMsg(10 * time.Millisecond); err == nil && !x.mayAsk {
				t.Error("it hears of others")
			}
		})
	}
	for _, wrong := range []string{"", "x", HostToken("another", "web1"),
		strings.Replace(HostToken(secret, "web1"), "web1", "web2", 1)} {
		p := hubOf(t, &Hub{Listen: "127.0.0.1:0", NoMerger: true, Server: Server{token: secret}})
		if nc, err := nats.Connect(p.url, nats.Token(wrong)); err == nil {
			nc.Close()
			t.Errorf("the token %q is let in", wrong)
		}
	}
}

// An agent with the secret of its host answers the asker, as that host, and takes no other name.
func TestAgentsWithSecretsOfTheirOwn(t *testing.T) {
	const secret = "the secret of the hub"
	p := hubOf(t, &Hub{Listen: "127.0.0.1:0", Server: Server{token: secret}})
	for _, name := range []string{"db1.example.com", "db2"} {
		p.agent("", func(a *Agent) { a.Server.token = HostToken(secret, name) })
	}
	p.secret = secret
	p.waitForHosts(2)
	for _, parts := range [][]int{{0}, {1}} {
		to := &answers{}
		if err := p.ask(context.Background(), "3", to, func(a *Asker) { a.Parts = parts }); err != nil {
			t.Fatal(err, to)
		}
		if calls, _, _ := to.total(t); calls != 2*60 || strings.Contains(to.String(), "violation") {
			t.Errorf("got %d calls, want 120: %s", calls, to)
		}
	}
	a := &Agent{Server: Server{URL: p.url, token: HostToken(secret, "db1")}, Name: "db3",
		Say: func(string) {}}
	if err := a.Run(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "the given secret is for host db1") {
		t.Errorf("got %v", err)
	}
}

// A host cannot pass a frame off as that of several.
func TestHostsTellOfThemselvesOnly(t *testing.T) {
	f := &mergeable.Frame{Seq: 1, Shares: []mergeable.Share{{Host: "other", Seq: 1}}}
	for _, several := range []bool{false, true} {
		it := &item{name: "web1", raw: f.Append(nil), several: several}
		if _, err := it.decode(false, 0); (err == nil) != several {
			t.Errorf("several %v: got %v", several, err)
		}
	}
}

// Of many hosts that are missing, or late, a result names some, and says how many more there are.
func TestFewOfManyHostsAreNamed(t *testing.T) {
	const many = 20_000
	for _, format := range []string{"json", "text"} {
		var to bytes.Buffer
		lines := 0
		cfg := &session.Config{Messages: func(string) { lines++ }}
		c := &collector{q: &Question{Config: cfg, JSON: format == "json"}, hosts: map[string]*source{}}
		c.late, c.wrong = map[string]int{}, map[string]bool{}
		var err error
		if c.out, err = render.New(&to, render.Options{Format: format, Clock: wall}); err != nil {
			t.Fatal(err)
		}
		for i := range many {
			c.silent = append(c.silent, fmt.Sprintf("made-up-%05d", i))
			c.tellLate(&mergeable.Share{Host: c.silent[i]})
			c.distrust(c.silent[i], errShares)
		}
		w := &window{Window: mergeable.NewMerger(nil).NewWindow()}
		if err := errors.Join(c.tellHosts(w, false), c.out.Flush()); err != nil {
			t.Fatal(err)
		}
		text := to.String()
		if n := strings.Count(text, "made-up"); n > 3*mostNamed || n < 12 {
			t.Errorf("%s names %d hosts", format, n)
		}
		for _, part := range map[string][]string{
			"json": {`"of":20000`, `"missing_more":19800`, `"late_more":19800`},
			"text": {"0 of 20000 hosts", "and 19988 more"}}[format] {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %s in %.300s", format, part, text)
			}
		}
		if lines > 2*mostSaid+2 {
			t.Errorf("%s: got %d lines of messages", format, lines)
		}
	}
}

// The list of a hub is full at some time, which it says once.
func TestListsOfHostsAreBounded(t *testing.T) {
	said := 0
	r := &roster{hosts: map[string]*knownHost{}, say: func(string) { said++ }}
	const each = 1 << 20
	for i := range mostTold/each + 10 {
		r.heard(Host{Name: fmt.Sprint(i)}, each)
	}
	if len(r.hosts) != mostTold/each || said != 1 {
		t.Errorf("got %d hosts, said %d times; want %d, 1", len(r.hosts), said, mostTold/each)
	}
	r.heard(Host{Name: "0", Gone: true}, 1)
	r.heard(Host{Name: "new"}, each)
	if r.hosts["new"] == nil || r.hosts["0"] != nil || r.bytes != mostTold {
		t.Errorf("got %d bytes, new: %v", r.bytes, r.hosts["new"])
	}
}
