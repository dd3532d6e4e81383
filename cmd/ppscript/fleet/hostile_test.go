package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"ppscript/runtime/text/diag"
)

// natsAt starts a server at a port of its own, or at a given one.
func natsAt(t *testing.T, port int, token string) *server.Server {
	t.Helper()
	if port > 0 {
		waitForPort(t, port)
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoSigs: true,
		Authorization: token, NoSystemAccount: true})
	if err != nil {
		t.Fatal(err)
	}
	said := &fatalLog{}
	s.SetLoggerV2(said, false, false, false)
	go s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatalf("no server at port %d: %s", port, said.text.Load())
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// waitForPort waits until a port is free. A process that another test starts has the sockets of this one for
// a moment, until it executes its program.
func waitForPort(t *testing.T, port int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			l.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// A fatalLog keeps why a server ended.
type fatalLog struct{ text atomic.Value }

func (l *fatalLog) Fatalf(format string, v ...any) { l.text.Store(fmt.Sprintf(format, v...)) }
func (l *fatalLog) Noticef(string, ...any)         {}
func (l *fatalLog) Warnf(string, ...any)           {}
func (l *fatalLog) Errorf(string, ...any)          {}
func (l *fatalLog) Debugf(string, ...any)          {}
func (l *fatalLog) Tracef(string, ...any)          {}

// lowPort returns a free port that the kernel gives to no client: one who tries again and again to connect to
// a port of the others, where nobody listens, is connected with itself before long, and keeps the port.
func lowPort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port from 10000 to 30000")
	return 0
}

// Each field of each message has a bound, at both ends.
func TestFieldsAreBounded(t *testing.T) {
	long, line := strings.Repeat("x", 5000), "a\nvm2   role=db"
	f := func(ok bool, m peerMessage) {
		t.Helper()
		if err := m.check(); (err == nil) != ok {
			t.Errorf("%.200T %.200v: got %v, want good: %v", m, m, err, ok)
		}
	}
	job := func(change func(j *Job)) *Job {
		j := &Job{ID: "0a1b2c3d4e", By: "eve@x", Request: Request{Name: "syscalls"}}
		change(j)
		return j
	}
	f(true, job(func(*Job) {}))
	for _, id := range []string{"", long, strings.Repeat("x", 65), "a.b", "a b", "a*", ">", "a\nb"} {
		f(false, job(func(j *Job) { j.ID = id }))
	}
	f(false, job(func(j *Job) { j.Name = long }))
	f(false, job(func(j *Job) { j.By = strings.Repeat(long, 2) }))
	f(false, job(func(j *Job) { j.Labels = map[string]string{long: ""} }))
	f(false, job(func(j *Job) { j.Args = make([]string, 2000) }))
	f(false, job(func(j *Job) { j.Options = make([]Option, 2000) }))
	f(false, job(func(j *Job) { j.Options = []Option{{Name: long}} }))
	f(false, job(func(j *Job) { j.Options = []Option{{Name: "a", Values: []string{long + long}}} }))
	f(false, job(func(j *Job) { j.Stored = "../x" }))
	f(false, job(func(j *Job) { j.Tree = &Tree{Parts: make([]int, 99)} }))
	f(true, &Host{Name: "a", Labels: map[string]string{"role": "db"}, Works: "ok"})
	for _, name := range []string{"", long, line, "\x1b[31mred"} {
		f(false, &Host{Name: name})
		f(false, &mate{Name: name})
	}
	f(false, &Host{Name: "a", Kernel: line})
	f(false, &Host{Name: "a", Labels: map[string]string{"a": line}})
	f(false, &Answer{Host: line})
	f(false, &Answer{Host: "a", Error: long + long})
	f(false, &JobEnd{Host: "a", Error: long + long})
	f(false, &JobEnd{Host: long})
	f(false, runningJobs{{Host: "a", Job: "b", Log: []string{long + long}}})
	f(false, &FrameAnswer{Without: []FrameID{{Host: long}}})
	f(false, &Again{Of: -1})
	for _, header := range []string{long, strings.Repeat("1/", 200) + "1"} {
		if _, err := parseRoute("a", header); err == nil {
			t.Errorf("the route %.20s is taken", header)
		}
	}
	if _, err := parseRoute(long, "1"); err == nil {
		t.Error("the route of a long job is taken")
	}
}

// A job whose number is too long for a subject, which had an agent's connection closed for good, changes
// nothing.
func TestLongNumbersKeepNoAgentAway(t *testing.T) {
	s := natsAt(t, server.RANDOM_PORT, "")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	over := make(chan error, 1)
	a := &Agent{Server: Server{URL: s.ClientURL()}, Name: "a", Program: "/bin/false", Say: func(string) {},
		Limits: Limits{Jobs: 4, Duration: time.Minute, Interval: time.Millisecond, Waiting: 1 << 20},
		Permit: func(*Job) error { return nil },
		Tell:   func(*Job, time.Time, uint64, error) {}}
	go func() { over <- a.Run(ctx) }()
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ask := func(j Job, wait time.Duration) (*nats.Msg, error) {
		id := j.ID
		if !jobID.MatchString(id) {
			id = "none"
		}
		return request(nc, &nats.Msg{Subject: jobSubject, Data: must(j)}, id, wait)
	}
	good := Job{ID: "good", Request: Request{Name: "x"}}
	first := Job{ID: "first", Interval: 1} // which is refused
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := ask(first, 10*time.Second); err == nil {
			break // it listens
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	for _, n := range []int{65, 4000, 5000, 100_000} {
		_, _ = ask(Job{ID: strings.Repeat("x", n), Request: good.Request}, 100*time.Millisecond)
		_, _ = ask(Job{ID: "y", Request: Request{Name: strings.Repeat("x", n)}}, 100*time.Millisecond)
	}
	if m, err := ask(good, 10*time.Second); err != nil || strings.Contains(string(m.Data), `"error"`) {
		t.Errorf("got %v, %v, want that it runs", m, err)
	}
	end()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// An agent that its server keeps out for good ends, with an error, so that it is started again.
func TestAgentsThatAreKeptOutEnd(t *testing.T) {
	first := natsAt(t, lowPort(t), "")
	url := first.ClientURL()
	over := make(chan error, 1)
	heard := make(chan struct{}, 1)
	a := &Agent{Server: Server{URL: url}, Name: "a", Program: "/bin/false", Limits: Limits{Jobs: 1},
		Say: func(line string) {
			if strings.HasPrefix(line, "agent a of") {
				heard <- struct{}{}
			}
		}, Tell: func(*Job, time.Time, uint64, error) {}}
	go func() { over <- a.Run(t.Context()) }()
	<-heard
	port := portOf(t, first)
	first.Shutdown()
	first.WaitForShutdown()
	natsAt(t, port, "another secret")
	select {
	case err := <-over:
		if err == nil || diag.HintOf(err) == "" || !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("got %v, want that it is not let in", err)
		}
	case <-time.After(60 * time.Second):
		t.Error("it goes on, and will never be heard again")
	}
}

func portOf(t *testing.T, s *server.Server) int {
	t.Helper()
	a, ok := s.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("the server is at %v", s.Addr())
	}
	return a.Port
}

// Texts of others make no rows, and no escape sequences.
func TestTextsOfHostsStayInTheirRows(t *testing.T) {
	evil := "k\nroot ok\r\x1b[31m\u202e"
	var to bytes.Buffer
	list := []HostAge{{Host: Host{Name: evil, Labels: map[string]string{evil: evil}, Kernel: evil, Arch: evil,
		Version: evil, Works: evil}}}
	if err := showHosts(&to, list, false); err != nil {
		t.Fatal(err)
	}
	if got := to.String(); strings.Count(got, "\n") != 2 || strings.ContainsAny(got, "\r\x1b\u202e") {
		t.Errorf("got %q, want two lines of graphic characters", got)
	}
}

// Hosts that anybody can have made up are known only as long as they are told of.
func TestHostsThatTellOnceAreForgotten(t *testing.T) {
	r := &roster{hosts: map[string]*knownHost{}}
	r.heard(Host{Name: "once"}, 1)
	r.heard(Host{Name: "real"}, 1)
	now := time.Now()
	r.hosts["real"].first = now.Add(-time.Hour)
	for _, x := range []struct {
		ago        time.Duration
		once, real bool
	}{{time.Minute, true, true}, {10 * time.Minute, false, true}, {25 * time.Hour, false, false}} {
		for name, want := range map[string]bool{"once": x.once, "real": x.real} {
			if got := !r.hosts[name].gone(now.Add(x.ago)); got != want {
				t.Errorf("%s after %s: known %v, want %v", name, x.ago, got, want)
			}
		}
	}
}
