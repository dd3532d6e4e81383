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

// HubVariable is the environment variable with the hub's address, used without
// the option --hub.
const HubVariable = "PPSCRIPT_HUB"

// defaultHub is the default address of a hub.
const defaultHub = "nats://127.0.0.1:4222"

// A Server has the address of a NATS server and the credentials for it.
type Server struct {
	URL       string
	TokenFile string // file with the secret of the fleet or of this host
	Creds     string // file with NATS credentials (JWT and key), for accounts
	NKey      string // file with the seed of an nkey
	CA        string // file with the authorities for the server's certificate; "": the machine's
	Cert, Key string // files with this side's certificate and key; "": none

	token string // the secret from the environment
}

// secret returns the secret of the fleet or of this host; "" if none is given.
func (s *Server) secret() (string, error) {
	if s.TokenFile == "" {
		return s.token, nil
	}
	return token.Read(s.TokenFile)
}

// name returns the name of the host that the secret or certificate belongs to;
// "" if it belongs to no host.
func (s *Server) name() (string, error) {
	secret, err := s.secret()
	if name := tokenName(secret); name != "" || err != nil || s.Cert == "" {
		return name, err
	}
	text, err := os.ReadFile(s.Cert)
	if err != nil {
		return "", nil // connect reports the error
	}
	list, err := identity.Certificates(text)
	if err != nil || len(list) == 0 {
		return "", nil
	}
	return list[0].Subject.CommonName, nil
}

// connect connects to the server. program is the client's name for the server; host is the name of
// an agent's host, else "". With retry, it keeps trying if the first attempt fails.
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
		// No buffer in the library: a job keeps its unsent frames itself, in
		// order and counted.
		nats.ReconnectBufSize(-1), nats.PingInterval(20 * time.Second), nats.MaxPingsOutstanding(2),
	}
	secret, err := s.secret()
	if err != nil {
		return nil, err
	}
	if host != "" {
		options = append(options, nats.CustomInboxPrefix(inboxOf(host)))
		if s.Creds == "" && s.NKey == "" {
			options = append(options, nats.UserInfo(wordOf(host), "")) // binds it to this host
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
		e.WithHint("check the address and the files with keys; see: ppscript hub --help")
}

// goneForGood is the error when the server is lost and the library does not reconnect: the server
// refused this client, or closed the connection after a violation of the protocol. The service
// manager must restart the process.
func goneForGood(nc *nats.Conn) error {
	err := nc.LastError()
	if err == nil {
		err = nats.ErrConnectionClosed
	}
	return diag.Errorf(diag.Run, "hear", "the hub", "%w", err).
		WithHint("start it again, as systemd does; see what keeps it out: --token-file, --creds, certificates")
}

// loopback reports that only this machine can reach a host address.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
