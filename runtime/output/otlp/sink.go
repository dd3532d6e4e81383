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

// Options that name a collector.
const (
	MetricsOption  = "otlp"
	ProfilesOption = "otlp-profiles"
)

// A Server is a collector, by the URL in front of the paths that OTLP has.
type Server struct {
	sender   *push.Sender
	url      string
	resource []Attribute
}

// headersVariable has headers for requests, of which some are secret.
const headersVariable = "OTEL_EXPORTER_OTLP_HEADERS"

// paths are the paths of OTLP, by option.
var paths = map[string]string{MetricsOption: "v1/metrics", ProfilesOption: "v1development/profiles"}

// Check finds mistakes in the URL of a collector.
func Check(option, text string) error {
	_, _, _, err := settle(option, text)
	return err
}

// settle is what requests to a server have.
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

// Open begins to send what an option is about to a collector.
func Open(option, text string, say func(line string)) (*Server, error) {
	u, shown, header, err := settle(option, text)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // without one, the collector knows from where it comes
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

// partial reads the answer of a server: ExportMetricsPartialSuccess and the same of profiles.
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

// field is the content of a field of a message: of a number its varint.
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

// SendMetrics sends what a store has now.
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

// Stats tells what became of messages.
func (s *Server) Stats() push.Stats { return s.sender.Stats() }

// Close sends what waits and tells what did not arrive.
func (s *Server) Close() error { return s.sender.Close() }

// MetricsOf is a sink that sends the metrics of a store at the end of each interval. The
// store is filled by others, in front of it.
func MetricsOf(s *Server, store *metric.Store) output.Sink {
	return &metricsSink{Server: s, store: store}
}

type metricsSink struct {
	render.Ignore
	*Server
	store *metric.Store
	some  bool // there are results that were not sent
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

// Flush comes when all results of an interval were shown.
func (m *metricsSink) Flush() error {
	if m.some {
		m.some = false
		m.SendMetrics(m.store)
	}
	return nil
}

func (m *metricsSink) Close() error {
	m.SendMetrics(m.store) // with what has no intervals: lines
	return m.Server.Close()
}
