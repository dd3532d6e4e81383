package relay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/text/diag"
)

// At addresses to which others can connect, no events are sent or received
// without a token; the errors of both sides have a hint that makes one.
func TestToken(t *testing.T) {
	for _, at := range []string{"0.0.0.0:0", "127.0.0.1:0", "localhost:0", "[::1]:0", "vsock:1:1"} {
		_, err := NewSender(t.Context(), at, streams(), perfdata.WriteOptions{}, Options{})
		if err == nil || !strings.Contains(err.Error(), "no token") ||
			!strings.Contains(diag.HintOf(err), "export PPSCRIPT_TOKEN=") {
			t.Errorf("%s: got %v, want a refusal to send without a token, and how to make one", at, err)
		}
	}
	s, log := sender(t, "127.0.0.1:0", Options{Token: "secret"})
	at := log.at(t)
	for token, why := range map[string]string{"wrong": "another PPSCRIPT_TOKEN", "": "asks for a token"} {
		f, err := Receive(t.Context(), at, How{Token: token})
		if err == nil {
			f.Close()
			t.Fatalf("got in with token %q", token)
		}
		if !strings.Contains(err.Error(), why) || !strings.Contains(diag.HintOf(err), "PPSCRIPT_TOKEN") {
			t.Errorf("token %q: got %v (hint: %s), want to read %q", token, err, diag.HintOf(err), why)
		}
	}
	log.await(t, "does not know the token", 1)
	f, err := Receive(t.Context(), at, How{Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log.await(t, " connected", 1)
	send(s, 1, 10)
	if err := errors.Join(s.Round(0), s.Close()); err != nil {
		t.Fatal(err)
	}
	check(t, f, want(1, 10))
}

// listener takes connections and treats each as a hostile sender would.
func listener(t *testing.T, network, at string, serve func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serve(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return ln.Addr().String()
}

// A hostile listener in place of the sender gets nothing that it could use elsewhere, and
// is refused.
func TestImpostorsAreNotBelieved(t *testing.T) {
	head, err := perfdata.PipeHead(streams(), perfdata.WriteOptions{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	const token = "correct horse"
	var heard bytes.Buffer
	real, log := sender(t, "127.0.0.1:0", Options{Token: token})
	defer real.Close()
	realAt := log.at(t)
	f := func(name, why string, serve func(net.Conn)) {
		t.Helper()
		heard.Reset()
		served := make(chan struct{})
		at := listener(t, "tcp", "127.0.0.1:0", func(c net.Conn) { defer close(served); serve(c) })
		src, err := Receive(t.Context(), at, How{Token: token})
		if err == nil {
			src.Close()
			t.Errorf("%s: it was believed", name)
			return
		}
		<-served
		if !strings.Contains(err.Error(), why) {
			t.Errorf("%s: got %v, want %s", name, err, why)
		}
		if bytes.Contains(heard.Bytes(), []byte(token)) {
			t.Errorf("%s: it was told the token", name)
		}
	}
	answer := func(c net.Conn) []byte {
		b := make([]byte, answerSize)
		n, _ := io.ReadFull(c, b)
		heard.Write(b[:n])
		return b[:n]
	}
	own, err := newSecret("another")
	if err != nil {
		t.Fatal(err)
	}
	f("events without a proof", "not proven", func(c net.Conn) {
		_, _ = c.Write(head)
		_, _ = io.Copy(&heard, c)
	})
	f("another token", "does not know the token", func(c net.Conn) {
		g, _ := own.greeting()
		_, _ = c.Write(g)
		a := answer(c)
		_, _ = c.Write(append([]byte{verdictGood},
			proof(own.key, "sender", g, a[:nonceSize], a[nonceSize:])...))
		_, _ = c.Write(head)
	})
	f("a reflected proof", "does not know the token", func(c net.Conn) {
		g, _ := own.greeting()
		_, _ = c.Write(g)
		_, _ = c.Write(append([]byte{verdictGood}, answer(c)[nonceSize:]...))
		_, _ = c.Write(head)
	})
	recorded := hearReal(t, realAt, token)
	f("what was heard before", "does not know the token", func(c net.Conn) {
		_, _ = c.Write(recorded[:greetingSize])
		answer(c)
		_, _ = c.Write(recorded[greetingSize:])
	})
	f("garbage", "not proven", func(c net.Conn) { _, _ = c.Write(bytes.Repeat([]byte("x"), 4096)) })
	f("nothing", "hung up", func(net.Conn) {})
	f("half a greeting", "hung up", func(c net.Conn) { g, _ := own.greeting(); _, _ = c.Write(g[:20]) })
}

// hearReal returns all bytes that a sender sends to a receiver with the token.
func hearReal(t *testing.T, at, token string) []byte {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var heard bytes.Buffer
	g := make([]byte, greetingSize)
	if _, err := io.ReadFull(conn, g); err != nil {
		t.Fatal(err)
	}
	heard.Write(g)
	if err := prove(struct {
		io.Reader
		io.Writer
	}{io.TeeReader(conn, &heard), conn}, g, token); err != nil {
		t.Fatal(err)
	}
	return heard.Bytes()
}

// An overheard answer is refused the second time, and a sender does not answer
// its own greeting.
func TestAnswersAreGoodOnce(t *testing.T) {
	s, log := sender(t, "127.0.0.1:0", Options{Token: "secret"})
	defer s.Close()
	at := log.at(t)
	dial := func() (net.Conn, []byte) {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		g := make([]byte, greetingSize)
		if _, err := io.ReadFull(conn, g); err != nil {
			t.Fatal(err)
		}
		return conn, g
	}
	verdict := func(conn net.Conn, answer []byte) (byte, int) {
		if _, err := conn.Write(answer); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		rest, err := io.ReadAll(conn)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || len(rest) == 0 {
			t.Fatalf("got %d bytes, %v; want a verdict", len(rest), err)
		}
		return rest[0], len(rest)
	}
	// An attacker in the middle passes a greeting on, and keeps the good
	// answer.
	var good bytes.Buffer
	conn, g := dial()
	if err := prove(struct {
		io.Reader
		io.Writer
	}{conn, io.MultiWriter(conn, &good)}, g, "secret"); err != nil {
		t.Fatal(err)
	}
	if good.Len() != answerSize {
		t.Fatalf("got an answer of %d bytes, want %d", good.Len(), answerSize)
	}
	again, _ := dial()
	if v, n := verdict(again, good.Bytes()); v != verdictWrong || n != 1 {
		t.Errorf("a replayed answer: got verdict %d and %d bytes, want it refused and nothing else", v, n)
	}
	third, g := dial()
	reflected := append(bytes.Clone(g[len(g)-nonceSize:]), g[:answerSize-nonceSize]...)
	if v, n := verdict(third, reflected); v != verdictWrong || n != 1 {
		t.Errorf("a reflected greeting: got verdict %d and %d bytes, want it refused and nothing else", v, n)
	}
}

// FuzzAnswers checks that only the right answer is accepted.
func FuzzAnswers(f *testing.F) {
	s := &secret{key: bytes.Repeat([]byte{1}, 32)}
	g, err := s.greeting()
	if err != nil {
		f.Fatal(err)
	}
	copy(g[len(g)-nonceSize:], make([]byte, nonceSize))
	nonce := make([]byte, nonceSize)
	right := append(bytes.Clone(nonce), proof(s.key, "receiver", g, nonce)...)
	f.Add(right)
	f.Add([]byte(nil))
	f.Add(append(bytes.Clone(nonce), proof(s.key, "sender", g, nonce)...))
	f.Add(bytes.Repeat([]byte{0xff}, answerSize))
	f.Fuzz(func(t *testing.T, answer []byte) {
		want := len(answer) == answerSize &&
			bytes.Equal(answer[nonceSize:], proof(s.key, "receiver", g, answer[:nonceSize]))
		if got := s.welcome(g, answer) != nil; got != want {
			t.Errorf("got welcome %v of %x, want %v", got, answer, want)
		}
	})
}

// The first bytes of a hostile sender never pass for a proof, and end.
func FuzzGreetings(f *testing.F) {
	f.Add([]byte(greetingMagic))
	f.Add([]byte("PERFILE2\x10\x00\x00\x00\x00\x00\x00\x00"))
	f.Add(append([]byte(greetingMagic), bytes.Repeat([]byte{0}, greetingSize+1+32)...))
	f.Fuzz(func(t *testing.T, said []byte) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		said = said[:min(len(said), 4096)]
		if _, err := w.Write(said); err != nil {
			t.Fatal(err)
		}
		w.Close()
		c := &connection{File: r, ctx: context.Background()}
		// Answers go nowhere: the pipe is for reading.
		if got, err := c.begin("token"); err == nil {
			t.Errorf("got %q and no error of %q", got, said)
		}
	})
}

// TestDeviceAsksForTheToken checks that with a token, the process at the other end of a device must
// know it too.
func TestDeviceAsksForTheToken(t *testing.T) {
	master, slave := pseudoTerminal(t)
	s, log := sender(t, slave, Options{Token: "secret"})
	c := &connection{File: master, ctx: t.Context(), known: true}
	if first, err := c.begin("wrong"); !errors.Is(err, errRefused) {
		t.Fatalf("got %q, %v; want the wrong token refused", first, err)
	}
	log.await(t, "does not know the token", 1)
	first, err := c.begin("secret")
	if err != nil || len(first) != 0 {
		t.Fatalf("got %q, %v; want the proof and nothing before it", first, err)
	}
	log.await(t, "is connected", 1)
	checkDevice(t, s, master)
}
