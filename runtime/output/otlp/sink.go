package otlp

import (
	"cmp"
	"net/http"
	"net/url"
	"os"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"ppscript/runtime/output"
	"ppscript/runtime/output/metric"
	"ppscript/runtime/output/push"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
)

// Names of the options with the URL of a collector.
const (
	MetricsOption  = "otlp"
	ProfilesOption = "otlp-profiles"
)

// A Server sends messages to a collector.
type Server struct {
	sender   *push.Sender
	url      string
	resource []Attribute
}

// headersVariable is the environment variable with headers for requests, which
// may contain secrets.
const headersVariable = "OTEL_EXPORTER_OTLP_HEADERS"

// paths are the paths of OTLP, by option.
var paths = map[string]string{MetricsOption: "v1/metrics", ProfilesOption: "v1development/profiles"}

// Check returns an error if an option's URL or the headers are wrong.
func Check(option, text string) error {
	_, _, _, err := settle(option, text)
	return err
}

// settle returns the URL and the headers for requests, and the URL in the form
// for messages.
func settle(option, text string) (u *url.URL, shown string, header http.Header, err error) {
	if u, shown, err = push.Address(option, text); err != nil {
		return nil, "", nil, err
	}
	if header, err = push.Header(os.Getenv(headersVariable)); err != nil {
		return nil, "", nil, diag.Errorf(diag.Usage, "read", "$"+headersVariable, "%w", err).
			WithHint("export %s=authorization=Bearer%%20TOKEN", headersVariable)
	}
	return u, shown, header, nil
}

// Open makes a Server for an option's URL. say prints messages about failures.
func Open(option, text string, say func(line string)) (*Server, error) {
	u, shown, header, err := settle(option, text)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // without a name, the collector still has the address
	s := &Server{
		url: u.JoinPath(paths[option]).String(),
		resource: []Attribute{
			{"service.name", cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), "ppscript")}, {"host.name", host},
		},
	}
	s.sender = push.New(push.Options{Option: option, Where: shown, Header: header, Say: say,
		Accepted: partial})
	return s, nil
}

// partial reads the answer of a server: ExportMetricsPartialSuccess, or the same message for
// profiles.
func partial(body []byte) (refused int64, why string) {
	in, ok := field(body, 1)
	if !ok {
		return 0, ""
	}
	n, _ := field(in, 1)
	text, _ := field(in, 2)
	v, size := protowire.ConsumeVarint(n)
	if size < 0 {
		return 0, ""
	}
	return int64(v), string(text)
}

// field returns the content of a field of a message; for a number, its varint.
func field(message []byte, want protowire.Number) ([]byte, bool) {
	for len(message) > 0 {
		num, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, false
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(num, kind, message)
		if size < 0 {
			return nil, false
		}
		value := message[:size]
		if num == want && kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
			return value, true
		}
		if num == want && kind == protowire.VarintType {
			return value, true
		}
		message = message[size:]
	}
	return nil, false
}

// SendMetrics sends the current metrics of a store.
func (s *Server) SendMetrics(store *metric.Store) {
	body := AppendMetrics(nil, store.Snapshot(), s.resource, store.Start, time.Now())
	s.send(body)
}

// SendStacks implements output.StackSender.
func (s *Server) SendStacks(script string, stacks *result.Stacks) error {
	s.send(AppendProfiles(nil, stacks, s.resource, "ppscript/"+script, time.Now()))
	return nil
}

func (s *Server) send(body []byte) {
	s.sender.Send(push.Message{URL: s.url, ContentType: "application/x-protobuf", Encoding: "gzip",
		Body: push.Gzip(body)})
}

// Stats returns the counts of sent and failed messages.
func (s *Server) Stats() push.Stats { return s.sender.Stats() }

// Close sends waiting messages. Its error says how many messages were not
// delivered.
func (s *Server) Close() error { return s.sender.Close() }

// MetricsOf returns a sink that sends the metrics of a store at the end of each
// interval. Other sinks, which must come before it, fill the store.
func MetricsOf(s *Server, store *metric.Store) output.Sink {
	return &metricsSink{Server: s, store: store}
}

type metricsSink struct {
	render.Ignore
	*Server
	store *metric.Store
	some  bool // the store has results that were not sent
}

func (m *metricsSink) Begin(output.About) error { return nil }

// Show implements render.Renderer.
func (m *metricsSink) Show(r result.Result) error {
	switch r.(type) {
	case *result.Table, *result.Stacks:
		m.some = true
	}
	return nil
}

// Flush implements render.Renderer; it is called after the last result of an
// interval.
func (m *metricsSink) Flush() error {
	if m.some {
		m.some = false
		m.SendMetrics(m.store)
	}
	return nil
}

func (m *metricsSink) Close() error {
	m.SendMetrics(m.store) // includes lines, which come without intervals
	return m.Server.Close()
}
