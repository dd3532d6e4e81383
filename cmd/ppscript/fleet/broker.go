//go:build !nohub

package fleet

import (
	"crypto/hmac"
	"crypto/tls"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"ppscript/runtime/text/diag"
)

// This file runs the NATS server of a hub and decides which client may use which subjects. A
// program that is built with the tag nohub lacks it: that saves 9 MB, and the command hub then
// executes ServerProgram.

// elsewhere does nothing in a program with the server.
func (h *Hub) elsewhere() error { return nil }

// listen starts the server. secret is the fleet's; "" admits everybody.
func (h *Hub) listen(host string, number int, secret string) (broker, error) {
	o := &server.Options{ServerName: "ppscript", Host: host, Port: number, NoSigs: true, NoLog: true,
		MaxPayload: 1 << 20, DisableShortFirstPing: true, NoSystemAccount: true, MaxPending: 256 << 20}
	if number == 0 {
		o.Port = server.RANDOM_PORT
	}
	o.CustomClientAuthentication = &access{own: h.own, secret: secret, certificates: h.CA != ""}
	if h.Cert != "" {
		tls := &server.TLSConfigOpts{CertFile: h.Cert, KeyFile: h.Key, CaFile: h.CA, Verify: h.CA != "",
			Timeout: 5}
		var err error
		if o.TLSConfig, err = server.GenTLSConfig(tls); err != nil {
			return nil, diag.Errorf(diag.Usage, "read certificate", h.Cert, "%w", err).
				WithHint("give --tls-cert and --tls-key files of PEM")
		}
		o.TLS, o.TLSVerify, o.TLSTimeout = true, h.CA != "", 5
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, diag.Errorf(diag.Run, "start hub", h.Listen, "%w", err).
			WithHint("see: ppscript hub --help")
	}
	failed := &failure{}
	s.SetLogger(failed, false, false)
	go s.Start()
	for begun := time.Now(); !s.ReadyForConnections(10 * time.Millisecond); {
		if !failed.ended() && time.Since(begun) < 5*time.Second {
			continue
		}
		s.Shutdown()
		return nil, diag.Errorf(diag.Run, "listen", h.Listen, "%s", failed.text()).
			WithHint("give another address: --listen 127.0.0.1:4223")
	}
	return s, nil
}

// A failure is the server's logger. It keeps the first error, the reason why
// the server ends.
type failure struct {
	mu     sync.Mutex
	reason string
	fatal  bool // the server has ended
}

func (f *failure) ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fatal
}

func (f *failure) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reason == "" {
		return "it does not begin to listen"
	}
	return f.reason
}

// Errorf implements server.Logger.
func (f *failure) Errorf(format string, v ...any) { f.say(false, format, v) }

// Fatalf implements server.Logger.
func (f *failure) Fatalf(format string, v ...any) { f.say(true, format, v) }

func (f *failure) say(fatal bool, format string, v []any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fatal = f.fatal || fatal
	f.reason = strings.TrimSpace(diag.Errorf(diag.Run, "", "", format, v...).Cause.Error())
}

// Noticef implements server.Logger.
func (*failure) Noticef(string, ...any) {}

// Warnf implements server.Logger.
func (*failure) Warnf(string, ...any) {}

// Debugf implements server.Logger.
func (*failure) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (*failure) Tracef(string, ...any) {}

// access decides which clients the hub's own server admits, and at which subjects they may publish.
type access struct {
	own    string // the secret of the hub's own connections
	secret string // the secret of all other connections; "" is none
	// certificates says that clients authenticate with a certificate, which the server has verified.
	certificates bool
}

// Check implements server.Authentication.
func (a *access) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	switch {
	case same(o.Token, a.own):
		c.RegisterUser(&server.User{Username: "hub"})
		return true
	case a.certificates:
		name := certifiedName(c.GetTLSConnectionState())
		if host := tokenName(o.Token); host != "" && host != name {
			return false
		}
		return a.admit(c, o.Token, name)
	}
	return a.admit(c, o.Token, nameOf(o.Username))
}

// admit admits clients with the fleet's secret or with a host's. With the fleet's secret a connection
// may ask, merge, and act as any host; with a host's secret it can act only as this host.
func (a *access) admit(c server.ClientAuthentication, token, name string) bool {
	host := tokenName(token)
	switch {
	case a.secret == "" || same(token, a.secret):
		c.RegisterUser(&server.User{Username: "any", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: append(ownSubjects(name), hostsSubject, jobSubject,
				jobsSubject, leaseSubject+"*", stopSubject+"*", againSubject+"*", matesSubject,
				sumSubject+"*", sumsSubject+"*.*", "_INBOX.>")},
			Subscribe: &server.SubjectPermission{Allow: []string{prefix + ">", "_INBOX.>"}}}})
		return true
	case host != "" && same(token, HostToken(a.secret, host)):
		c.RegisterUser(&server.User{Username: host, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: hostSubjects(host)},
			Subscribe: &server.SubjectPermission{Allow: []string{jobSubject, jobsSubject, leaseSubject + "*",
				stopSubject + "*", againSubject + "*", inboxOf(host) + ".>"}}}})
		return true
	}
	return false
}

func ownSubjects(name string) []string {
	if name == "" {
		return nil
	}
	return hostSubjects(name)
}

func same(x, y string) bool { return y != "" && hmac.Equal([]byte(x), []byte(y)) }

// certifiedName returns the name in a client's certificate, "" if there is
// none.
func certifiedName(state *tls.ConnectionState) string {
	if state == nil || len(state.PeerCertificates) == 0 {
		return ""
	}
	name := state.PeerCertificates[0].Subject.CommonName
	if namesFit("host", name) != nil {
		return ""
	}
	return name
}
