package relay

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/source/identity"
	"ppscript/runtime/text/diag"
)

// A party is a key and its certificate.
type party struct{ key, cert []byte }

func newParty(t testing.TB, w identity.CertRequest, now time.Time) party {
	t.Helper()
	if w.Valid == 0 {
		w.Valid = 24 * time.Hour
	}
	key, cert, err := identity.Make(w, now)
	if err != nil {
		t.Fatal(err)
	}
	return party{key, cert}
}

// believing returns the Side of p that trusts these certificates.
func (p party) believing(t testing.TB, peers ...party) *identity.Side {
	t.Helper()
	var list []byte
	for _, x := range peers {
		list = append(list, x.cert...)
	}
	s, err := identity.New(p.key, nil, list)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTLS checks that over TLS events come as they were sent, whether the other side's certificate
// is known or that of the authority that signed it, and without a token.
func TestTLS(t *testing.T) {
	now := time.Now()
	a, b := newParty(t, identity.CertRequest{Name: "a"}, now), newParty(t, identity.CertRequest{Name: "b"},
		now)
	ca := newParty(t, identity.CertRequest{Name: "fleet", Authority: true}, now)
	signed := newParty(t, identity.CertRequest{Name: "c", By: ca.key}, now)
	for name, sides := range map[string][2]*identity.Side{
		"pinned":      {a.believing(t, b), b.believing(t, a)},
		"signed":      {signed.believing(t, ca), signed.believing(t, ca)},
		"one of each": {a.believing(t, ca), signed.believing(t, b, a)},
	} {
		t.Run(name, func(t *testing.T) {
			s, log := sender(t, "127.0.0.1:0", Options{TLS: sides[0]})
			f, err := Receive(t.Context(), log.at(t), How{TLS: sides[1]})
			if err != nil {
				t.Fatal(err, diag.HintOf(err))
			}
			defer f.Close()
			log.await(t, identity.Name(sides[1].Own())+") connected", 1)
			send(s, 1, 20_000)
			if err := errors.Join(s.Round(0), s.Close()); err != nil {
				t.Fatal(err)
			}
			check(t, f, want(1, 20_000))
		})
	}
}

// The bytes on the wire are encrypted.
func TestTLSEncrypts(t *testing.T) {
	now := time.Now()
	a, b := newParty(t, identity.CertRequest{Name: "a"}, now), newParty(t, identity.CertRequest{Name: "b"},
		now)
	wire := func(of, to *identity.Side) []byte {
		s, log := sender(t, "127.0.0.1:0", Options{TLS: of, Token: "secret"})
		at := log.at(t)
		var heard bytes.Buffer
		copied := make(chan struct{})
		between := listener(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
			defer close(copied)
			on, err := net.Dial("tcp", at)
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(on, c); on.Close() }()
			_, _ = io.Copy(io.MultiWriter(c, &heard), on)
		})
		f, err := Receive(t.Context(), between, How{TLS: to, Token: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		log.await(t, " connected", 1)
		send(s, 1, 1000)
		if err := errors.Join(s.Round(0), s.Close()); err != nil {
			t.Fatal(err)
		}
		check(t, f, want(1, 1000))
		<-copied // the sender has ended
		return heard.Bytes()
	}
	magic := []byte("PERFILE2")
	if plain := wire(nil, nil); !bytes.Contains(plain, magic) {
		t.Error("without TLS the recording is not on the wire: this test would see nothing")
	}
	secret := wire(a.believing(t, b), b.believing(t, a))
	if len(secret) < 1000 || bytes.Contains(secret, magic) {
		t.Errorf("got %d bytes on the wire, with the recording among them", len(secret))
	}
}

// A peer that is not trusted, or that does not trust this side, gets no events, and both
// sides report the reason.
func TestTLSRefuses(t *testing.T) {
	now := time.Now()
	a, b := newParty(t, identity.CertRequest{Name: "a"}, now), newParty(t, identity.CertRequest{Name: "b"},
		now)
	other := newParty(t, identity.CertRequest{Name: "b"}, now) // the same name is nothing
	ca := newParty(t, identity.CertRequest{Name: "fleet", Authority: true}, now)
	wrong := newParty(t, identity.CertRequest{Name: "fleet", Authority: true}, now)
	stranger := newParty(t, identity.CertRequest{Name: "c", By: wrong.key}, now)
	// A certificate that was valid when it was made, and has expired when it is
	// used.
	old := newParty(t, identity.CertRequest{Name: "old", Valid: 1500 * time.Millisecond}, now)
	expired := old.believing(t, a)
	time.Sleep(time.Until(now.Add(1600 * time.Millisecond))) // times of certificates are whole seconds
	f := func(name string, of, to *identity.Side, sends, receives string) {
		t.Helper()
		s, log := sender(t, "127.0.0.1:0", Options{TLS: of, Admit: time.Second})
		defer s.Close()
		src, err := Receive(t.Context(), log.at(t), How{TLS: to})
		if err == nil {
			src.Close()
			t.Errorf("%s: events came", name)
			return
		}
		if !strings.Contains(err.Error(), receives) || diag.HintOf(err) == "" {
			t.Errorf("%s: the receiver: got %v (%s), want %q", name, err, diag.HintOf(err), receives)
		}
		log.await(t, sends, 1)
	}
	f("another key", a.believing(t, b), other.believing(t, a), identity.ErrUnknown.Error(),
		"does not believe")
	f("another sender", other.believing(t, a), a.believing(t, b), "it does not believe",
		identity.ErrUnknown.Error())
	f("another authority", a.believing(t, ca), stranger.believing(t, a), identity.ErrUnknown.Error(),
		"does not believe")
	f("an expired one", a.believing(t, old), expired, "has expired", "does not believe")
	f("an expired sender", expired, a.believing(t, old), "it does not believe", "has expired")
	s, log := sender(t, "127.0.0.1:0", Options{TLS: a.believing(t, b), Admit: time.Second})
	defer s.Close()
	nobody := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // it is the sender who must refuse
	if c, err := tls.Dial("tcp", log.at(t), nobody); err == nil {
		// In TLS 1.3 the client's handshake ends before it is refused.
		if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("who shows no certificate got %d bytes", n)
		}
		c.Close()
	}
	log.await(t, "certificate", 1)
	if _, err := identity.New(old.key, nil, a.cert); !errors.Is(err, identity.ErrExpired) {
		t.Errorf("our own has expired: got %v", err)
	}
}

// If the sender has a token, it is checked in addition to TLS.
func TestTLSAndToken(t *testing.T) {
	now := time.Now()
	a, b := newParty(t, identity.CertRequest{Name: "a"}, now), newParty(t, identity.CertRequest{Name: "b"},
		now)
	s, log := sender(t, "127.0.0.1:0", Options{TLS: a.believing(t, b), Token: "secret"})
	at, side := log.at(t), b.believing(t, a)
	for token, why := range map[string]string{"wrong": "another PPSCRIPT_TOKEN", "": "asks for a token"} {
		if src, err := Receive(t.Context(), at, How{Token: token, TLS: side}); err == nil {
			src.Close()
			t.Errorf("got in with token %q", token)
		} else if !strings.Contains(err.Error(), why) {
			t.Errorf("token %q: got %v, want %s", token, err, why)
		}
	}
	f, err := Receive(t.Context(), at, How{Token: "secret", TLS: side})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	send(s, 1, 10)
	if err := errors.Join(s.Round(0), s.Close()); err != nil {
		t.Fatal(err)
	}
	check(t, f, want(1, 10))
}

// A peer without TLS, or one that stops in the handshake, is refused in time and does not delay
// others. A peer with TLS refuses one without.
func TestTLSAndPlain(t *testing.T) {
	now := time.Now()
	a, b := newParty(t, identity.CertRequest{Name: "a"}, now), newParty(t, identity.CertRequest{Name: "b"},
		now)
	s, log := sender(t, "127.0.0.1:0", Options{TLS: a.believing(t, b), Admit: 300 * time.Millisecond})
	defer s.Close()
	at := log.at(t)
	stalled, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer stalled.Close()
	plain, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := plain.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	f, err := Receive(t.Context(), at, How{TLS: b.believing(t, a)})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log.await(t, "it does not use TLS", 1)
	log.await(t, "it did not begin with TLS in time", 1)

	p, log := sender(t, "127.0.0.1:0", Options{Token: "secret"})
	defer p.Close()
	if src, err := Receive(t.Context(), log.at(t), How{Token: "secret", TLS: b.believing(t, a)}); err == nil {
		src.Close()
		t.Error("a sender without TLS was believed")
	} else if !errors.Is(err, errPlain) {
		t.Errorf("got %v, want %v", err, errPlain)
	}
}

// There is a warning if others can read the connection, but not for loopback
// and vsock.
func TestReadable(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		a, err := parse(text)
		if err != nil || a.readable() != want {
			t.Errorf("%s: got %v, %v; want %v", text, a.readable(), err, want)
		}
	}
	f("192.0.2.1:9900", true)
	f("0.0.0.0:9900", true)
	f("host.example:9900", true)
	f("127.0.0.1:9900", false)
	f("[::1]:9900", false)
	f("localhost:9900", false)
	f("9900", false)
	f("vsock:9900", false)
	f("unix:/run/x", false)
}
