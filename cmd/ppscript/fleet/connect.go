package fleet

import (
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/cmd/ppscript/fleet/token"
	"ppscript/runtime/source/identity"
	"ppscript/runtime/text/diag"
)

// HubVariable has the address of the hub where no option does.
const HubVariable = "PPSCRIPT_HUB"

// defaultHub is where a hub listens that nobody told anything else.
const defaultHub = "nats://127.0.0.1:4222"

// A Server says how a NATS server is reached.
type Server struct {
	URL       string
	TokenFile string // the secret that all know, if the server wants one
	Creds     string // a file of NATS credentials (JWT and key), for accounts
	NKey      string // a file with the seed of an nkey
	CA        string // of the server's certificate; else the machine's
	Cert, Key string // our own, if the server wants one

	token string // of the environment
}

// secret is what the server wants from all, or of this host; "" if nothing.
func (s *Server) secret() (string, error) {
	if s.TokenFile == "" {
		return s.token, nil
	}
	return token.Read(s.TokenFile)
}

// name is whose secret or certificate we have; "" if it is nobody's.
func (s *Server) name() (string, error) {
	secret, err := s.secret()
	if name := tokenName(secret); name != "" || err != nil || s.Cert == "" {
		return name, err
	}
	text, err := os.ReadFile(s.Cert)
	if err != nil {
		return "", nil // connect says what is wrong with it
	}
	list, err := identity.Certificates(text)
	if err != nil || len(list) == 0 {
		return "", nil
	}
	return list[0].Subject.CommonName, nil
}

// connect reaches the server, as a program, and as the agent of a host unless that is "". retry has it try
// again and again from the beginning.
func (s *Server) connect(program, host string, retry bool, more ...nats.Option) (*nats.Conn, error) {
	if s.URL == "" {
		s.URL = os.Getenv(HubVariable)
	}
	if s.URL == "" {
		s.URL = defaultHub
	}
	options := []nats.Option{
		nats.Name("ppscript " + program), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second),
		nats.ReconnectJitter(500*time.Millisecond, 2*time.Second), nats.Timeout(3 * time.Second),
		nats.RetryOnFailedConnect(retry),
		// What is sent while the server is away is kept by us, in order and counted.
		nats.ReconnectBufSize(-1), nats.PingInterval(20 * time.Second), nats.MaxPingsOutstanding(2),
	}
	secret, err := s.secret()
	if err != nil {
		return nil, err
	}
	if host != "" {
		options = append(options, nats.CustomInboxPrefix(inboxOf(host)))
		if s.Creds == "" && s.NKey == "" {
			options = append(options, nats.UserInfo(wordOf(host), "")) // it may speak for this one only
		}
	}
	if secret != "" {
		options = append(options, nats.Token(secret))
	}
	for _, path := range []string{s.Creds, s.NKey, s.CA, s.Cert, s.Key} {
		if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
			return nil, diag.Errorf(diag.Usage, "read", path, "not a regular file").
				WithHint("give a file that can be read again, each time the server is reached")
		}
	}
	if s.Creds != "" {
		options = append(options, nats.UserCredentials(s.Creds))
	}
	if s.NKey != "" {
		key, err := nats.NkeyOptionFromSeed(s.NKey)
		if err != nil {
			return nil, diag.Errorf(diag.Usage, "read nkey", s.NKey, "%w", err).
				WithHint("give a file with a seed, SU..., as nk -gen user makes it")
		}
		options = append(options, key)
	}
	if s.CA != "" {
		options = append(options, nats.RootCAs(s.CA))
	}
	if s.Cert != "" || s.Key != "" {
		options = append(options, nats.ClientCert(s.Cert, s.Key))
	}
	nc, err := nats.Connect(s.URL, append(options, more...)...)
	if err == nil {
		return nc, nil
	}
	e := diag.Errorf(diag.Run, "reach", s.URL, "%w", err)
	switch {
	case errors.Is(err, nats.ErrNoServers):
		return nil,
			e.WithHint("start one: ppscript hub; or name it: --hub nats://HOST:4222, or $%s",
				HubVariable)
	case errors.Is(err, nats.ErrAuthorization), strings.Contains(err.Error(), "Authorization"):
		return nil,
			e.WithHint("give what the server wants: --token-file, --creds, --nkey, or --tls-cert and --tls-key")
	}
	return nil,
		e.WithHint("look at the address and the files of keys; ppscript hub --help tells of them")
}

// goneForGood is the error when the server is lost for good, without a new try: it refused us, or closed the
// connection since we broke its rules. The process that started us starts us anew.
func goneForGood(nc *nats.Conn) error {
	err := nc.LastError()
	if err == nil {
		err = nats.ErrConnectionClosed
	}
	return diag.Errorf(diag.Run, "hear", "the hub", "%w", err).
		WithHint("start it again, as systemd does; see what keeps it out: --token-file, --creds, certificates")
}

// loopback reports that only this machine can reach an address.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
