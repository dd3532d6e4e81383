package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// A Hub is the meeting point of a fleet: it runs a NATS server and keeps the
// list of hosts.
type Hub struct {
	Listen    string // HOST:PORT
	Server    Server // another NATS server to use instead of an own one, if it has a URL
	Cert, Key string // files for TLS of the own server
	CA        string // file with the authority of clients' certificates; "": clients need none
	NoMerger  bool   // do not merge frames here
	Say       func(line string)
	// Ready is called with the address when the hub can be reached. It may be
	// nil.
	Ready func(url string)

	own string // the secret of the hub's connections to its own server
}

// ServerProgram is the name of a second executable that contains the NATS server. A program built
// without the server executes it for the command hub.
const ServerProgram = "ppscript-hub"

// A broker is the NATS server of a hub.
type broker interface {
	nats.InProcessConnProvider
	ClientURL() string
	Shutdown()
	WaitForShutdown()
}

// goneAfter is how long a host stays in the list after its last message.
const goneAfter = 24 * time.Hour

// mostHosts bounds the hosts in the list, and mostTold the bytes of their messages that
// are kept.
const (
	mostHosts = 200_000
	mostTold  = 256 << 20
)

// Run serves until ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	own, err := h.start()
	if err != nil {
		return err
	}
	if own != nil {
		defer own.WaitForShutdown()
		defer own.Shutdown()
	}
	nc, err := h.dial(own)
	if err != nil {
		return err
	}
	defer nc.Close()
	r := &roster{hosts: map[string]*knownHost{}, say: h.Say}
	if err := r.serve(nc); err != nil {
		return err
	}
	if !h.NoMerger {
		end, err := h.merge(ctx, own)
		if err != nil {
			return err
		}
		defer end()
	}
	url := nc.ConnectedUrl()
	if own != nil {
		url = own.ClientURL()
	}
	h.Say("the hub is at " + url)
	if h.Ready != nil {
		h.Ready(url)
	}
	select {
	case <-ctx.Done():
		return nil
	case <-nc.StatusChanged(nats.CLOSED):
		return goneForGood(nc)
	}
}

// merge starts a merger, and returns a function that ends it.
func (h *Hub) merge(ctx context.Context, own broker) (end func(), err error) {
	nc, err := h.dial(own)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		g := &Merger{Say: h.Say}
		if err := g.serve(ctx, nc); err != nil {
			h.Say("it merges nothing: " + err.Error())
		}
	})
	return func() { stop(); all.Wait(); nc.Close() }, nil
}

// start starts the hub's own server; nil if another server is used.
func (h *Hub) start() (broker, error) {
	if h.Server.URL != "" {
		return nil, nil
	}
	host, port, err := net.SplitHostPort(h.Listen)
	number, err2 := strconv.Atoi(port)
	if err = errors.Join(err, err2); err != nil {
		return nil, diag.Errorf(diag.Usage, "listen", h.Listen, "want HOST:PORT").
			WithHint("write --listen 127.0.0.1:4222")
	}
	secret, err := h.Server.secret()
	if err != nil {
		return nil, err
	}
	if tokenName(secret) != "" {
		return nil, diag.Errorf(diag.Usage, "read token", h.Server.TokenFile, "it is the secret of one host").
			WithHint("give the secret from which it was made")
	}
	if !loopback(host) && secret == "" && h.CA == "" {
		return nil, diag.Errorf(diag.Usage, "listen", h.Listen,
			"other machines can reach this address, and no secret or certificate is required").
			WithHint("give --token-file, or --tls-cert, --tls-key and --tls-ca; or use a NATS cluster with accounts")
	}
	h.own = rand.Text()
	return h.listen(host, number, secret)
}

func (h *Hub) dial(own broker) (*nats.Conn, error) {
	if own == nil {
		return h.Server.connect("hub", "", false)
	}
	// A pipe within the process, without TLS.
	return nats.Connect("", nats.InProcessServer(own), nats.Name("ppscript hub"), nats.Token(h.own))
}

// A roster is the list of hosts, from the messages that agents send once a
// minute.
type roster struct {
	mu    sync.Mutex
	hosts map[string]*knownHost
	bytes int // of the messages that are kept
	full  bool
	say   func(line string)
}

type knownHost struct {
	Host
	first, at time.Time
	bytes     int
}

// gone reports that a host should leave the list. A host that sent messages only within a short
// time leaves soon, since anybody can invent such a host; an agent sends a message every minute.
func (k *knownHost) gone(now time.Time) bool {
	ago := now.Sub(k.at)
	return ago > goneAfter || k.at.Sub(k.first) < beatTime/2 && ago > 3*beatTime
}

// serve receives the messages of hosts, and answers requests for the list.
func (r *roster) serve(nc *nats.Conn) error {
	_, err := nc.Subscribe(beatSubject+"*", func(m *nats.Msg) {
		var h Host
		if len(m.Data) < 16<<10 && read(m.Data, &h) == nil && h.Name == speaker(m.Subject) {
			r.heard(h, len(m.Data))
		}
	})
	if err != nil {
		return err
	}
	_, err = nc.Subscribe(hostsSubject, func(m *nats.Msg) {
		list := r.list()
		const atOnce = 500
		for part := range slices.Chunk(list, atOnce) {
			_ = m.Respond(must(part))
		}
		_ = m.Respond([]byte("[]")) // an empty part marks the end of the list
	})
	if err == nil {
		err = nc.Flush()
	}
	return err
}

// heard adds or updates a host. bytes is the size of its message.
func (r *roster) heard(h Host, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	k := r.hosts[h.Name]
	switch {
	case h.Gone:
		r.forget(h.Name)
	case k == nil && (len(r.hosts) >= mostHosts || r.bytes+bytes > mostTold):
		if !r.full {
			r.full = true
			r.say("the list of hosts is full: it has " + strconv.Itoa(len(r.hosts)) + ", and takes no others")
		}
	case k == nil:
		r.bytes += bytes
		r.hosts[h.Name] = &knownHost{h, now, now, bytes}
	default:
		r.bytes += bytes - k.bytes
		k.Host, k.at, k.bytes = h, now, bytes
	}
}

// forget removes a host from the list. The lock is held.
func (r *roster) forget(name string) {
	if k := r.hosts[name]; k != nil {
		delete(r.hosts, name)
		r.bytes -= k.bytes
		r.full = false
	}
}

// list returns all hosts, sorted by name.
func (r *roster) list() []HostAge {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, now := make([]HostAge, 0, len(r.hosts)), time.Now()
	for name, h := range r.hosts {
		if h.gone(now) {
			r.forget(name)
			continue
		}
		list = append(list, HostAge{h.Host, now.Sub(h.at).Seconds()})
	}
	slices.SortFunc(list, func(a, b HostAge) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// hosts asks the hub for the hosts that have labels. known is false if no hub answers.
func hosts(ctx context.Context, nc *nats.Conn, labels map[string]string) (list []HostAge, known bool,
	err error) {
	in := nc.NewRespInbox()
	sub, err := nc.SubscribeSync(in)
	if err != nil {
		return nil, false, err
	}
	defer sub.Unsubscribe()
	if err := nc.PublishRequest(hostsSubject, in, nil); err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil || m.Header.Get("Status") == "503" {
			return list, known, nil // no hub answers, or the rest of the list was lost
		}
		var part seenHosts
		if err := read(m.Data, &part); err != nil {
			return nil, false, diag.Errorf(diag.Run, "ask", "hub", "%w", err).
				WithHint("is it of another version?")
		}
		known = true
		if len(part) == 0 {
			return list, true, nil
		}
		if len(list)+len(part) > mostHosts {
			return nil, false, diag.Errorf(diag.Run, "ask", "hub", "it lists more than %d hosts",
				mostHosts).
				WithHint("restart it, and check which clients may publish at %s", beatSubject)
		}
		for i := range part {
			if fits(labels, part[i].Labels) {
				list = append(list, part[i])
			}
		}
	}
}

// hostname returns the machine's name.
func hostname() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "unknown"
	}
	return plain.Line(name)
}
