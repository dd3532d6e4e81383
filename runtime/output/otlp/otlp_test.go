package otlp

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"ppscript/runtime/event"
	"ppscript/runtime/output"
	"ppscript/runtime/output/metric"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// collector is a server that takes requests by path, as their bytes.
func collector(t *testing.T, answer func() []byte) (url string, took map[string][][]byte) {
	took = map[string][][]byte{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		zip, err := gzip.NewReader(r.Body)
		if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" ||
			r.Header.Get("X-Tenant") != "me" || r.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("got %v, header %v", err, r.Header)
			return
		}
		body, err := io.ReadAll(zip)
		if err != nil {
			t.Error(err)
		}
		took[r.URL.Path] = append(took[r.URL.Path], body)
		_, _ = w.Write(answer())
	}))
	t.Cleanup(srv.Close)
	t.Setenv(headersVariable, "x-tenant=me")
	t.Setenv("OTEL_SERVICE_NAME", "svc")
	return srv.URL, took
}

func nothing() []byte { return nil }

func open(t *testing.T, option, url string) *Server {
	s, err := Open(option, url, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The collector's own packages read metrics of all kinds back.
func TestMetrics(t *testing.T) {
	url, took := collector(t, nothing)
	store := metric.NewStore(0)
	rec := store.Script("calls")
	sink := MetricsOf(open(t, MetricsOption, url+"/in/"), store)
	show := func(f func(s output.Sink) error) {
		t.Helper()
		for _, s := range []output.Sink{rec, sink} {
			if err := f(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	show(func(s output.Sink) error { return s.Begin(output.About{Script: "calls"}) })
	for range 2 {
		show(func(s output.Sink) error {
			return s.Show(&result.Table{
				Meta: result.Meta{Name: "table"},
				Columns: []result.Column{{Name: "comm", Kind: result.KeyColumn}, {Name: "calls",
					Merging: result.Added},
					{Name: "max", Unit: unit.US, Merging: result.Greatest}},
				Rows: [][]event.Value{{event.StrOf("a\xff"), event.IntOf(4), event.DurationOf(1500)}},
			})
		})
		show(func(s output.Sink) error {
			return s.Show(result.NewHistogram(result.Meta{Name: "histogram"}, nil,
				result.Column{Name: "size", Unit: unit.Bytes},
				[]result.KeyDistribution{{Distribution: result.Distribution{Sum: 9000,
					Buckets: []result.Bucket{{Lo: 512, Hi: 1024, Count: 3}, {Lo: 4096, Hi: 8192, Count: 1},
						{Lo: 1 << 62, Hi: result.OpenHi, Count: 2}}}}}))
		})
		show(output.Sink.Flush)
		show(output.Sink.Flush) // nothing is new
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	bodies := took["/in/v1/metrics"]
	if len(bodies) != 3 {
		t.Fatalf("got %d messages, want one for each interval and one at the end", len(bodies))
	}
	for i, want := range []string{
		`ppscript_calls_calls_total sum true Cumulative 1 comm=a\xff 4; ppscript_calls_max_seconds gauge s comm=a\xff 1.5e-06; ` +
			`ppscript_calls_size_bytes histogram Cumulative By [511 1023 4095 8191 4.611686018427388e+18] [0 3 0 1 0 2] 6 9000; `,
		`ppscript_calls_calls_total sum true Cumulative 1 comm=a\xff 8; ppscript_calls_max_seconds gauge s comm=a\xff 1.5e-06; ` +
			`ppscript_calls_size_bytes histogram Cumulative By [511 1023 4095 8191 4.611686018427388e+18] [0 6 0 2 0 4] 12 18000; `,
	} {
		req := pmetricotlp.NewExportRequest()
		if err := req.UnmarshalProto(bodies[i]); err != nil {
			t.Fatal(err)
		}
		if got := metricsText(t, req.Metrics()); got != want {
			t.Errorf("message %d: got\n%s\nwant\n%s", i, got, want)
		}
	}
}

// metricsText shows the metrics of the script.
func metricsText(t *testing.T, m pmetric.Metrics) string {
	res := m.ResourceMetrics().At(0)
	if name, _ := res.Resource().Attributes().Get("service.name"); name.Str() != "svc" ||
		m.ResourceMetrics().Len() != 1 {
		t.Errorf("got service %s", name.Str())
	}
	var b strings.Builder
	list := res.ScopeMetrics().At(0).Metrics()
	number := func(points pmetric.NumberDataPointSlice) {
		for i := range points.Len() {
			p := points.At(i)
			if age := time.Since(p.Timestamp().AsTime()); age < 0 || age > time.Minute {
				t.Errorf("got a time %v ago", age)
			}
			fmt.Fprintf(&b, "%s %v; ", attributes(p.Attributes()), p.DoubleValue())
		}
	}
	for i := range list.Len() {
		m := list.At(i)
		if !strings.HasPrefix(m.Name(), "ppscript_calls_") {
			continue
		}
		switch fmt.Fprint(&b, m.Name(), " "); m.Type() {
		case pmetric.MetricTypeSum:
			fmt.Fprint(&b, "sum ", m.Sum().IsMonotonic(), " ", m.Sum().AggregationTemporality(), " ",
				m.Unit(), " ")
			number(m.Sum().DataPoints())
		case pmetric.MetricTypeGauge:
			fmt.Fprint(&b, "gauge ", m.Unit(), " ")
			number(m.Gauge().DataPoints())
		case pmetric.MetricTypeHistogram:
			p := m.Histogram().DataPoints().At(0)
			fmt.Fprint(&b, "histogram ", m.Histogram().AggregationTemporality(), " ", m.Unit(), " ",
				p.ExplicitBounds().AsRaw(), " ", p.BucketCounts().AsRaw(), " ", p.Count(), " ", p.Sum(),
				"; ")
		}
	}
	return b.String()
}

func attributes(m pcommon.Map) string {
	var list []string
	for k, v := range m.All() {
		list = append(list, k+"="+v.AsString())
	}
	return strings.Join(list, ",")
}

// The collector's own packages read stacks back: with their names, times and numbers.
func TestProfiles(t *testing.T) {
	url, took := collector(t, nothing)
	sink := output.SendStacks(open(t, ProfilesOption, url))
	_ = sink.Begin(output.About{Script: "profile"})
	libc := result.Segment{Addr: 0x1000, Size: 0x2000, Offset: 0x400}
	read := &result.Frame{Symbol: "read", DSO: "/lib/libc.so", BuildID: "abcd", FileAddr: 0x1234,
		Addr: 0x7f1234, Segment: libc}
	main := &result.Frame{Symbol: "main", File: "main.c", Line: 7, Addr: 0x500}
	end := time.Unix(1_700_000_010, 0)
	err := sink.(output.Profiler).Profile(&result.Stacks{
		Meta: result.Meta{Name: "stacks", Begin: 1e9, End: 11e9, Wall: end, Loss: event.Loss{Lost: 3},
			Cost: &result.Cost{Budget: 0.5, Events: 0.25, Time: 1}},
		Keys: []result.Column{{Name: "comm", Kind: result.KeyColumn}}, Value: "period", Unit: unit.NS,
		Periods: true,
		Samples: []result.StackSample{
			{Key: []event.Value{event.StrOf("a")}, PID: 7, CallStack: result.StackOf(read, main), Count: 3,
				Value: 30},
			{Key: []event.Value{event.StrOf("b")}, PID: -1, CallStack: result.StackOf(main), Count: 1,
				Value: 10},
		},
		Rest: []result.StackSample{{Key: []event.Value{event.StrOf("a")}, PID: 7, Count: 2, Value: 20,
			CallStack: result.CallStack{Cut: true}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	req := pprofileotlp.NewExportRequest()
	if err := req.UnmarshalProto(took["/v1development/profiles"][0]); err != nil {
		t.Fatal(err)
	}
	p := req.Profiles()
	d := p.Dictionary()
	text := func(i int32) string { return d.StringTable().At(int(i)) }
	list := p.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
	var b strings.Builder
	for i := range list.Len() {
		prof := list.At(i)
		fmt.Fprintf(&b, "%s %s %v %v:", text(prof.SampleType().TypeStrindex()),
			text(prof.SampleType().UnitStrindex()),
			prof.Time().AsTime().Unix(), time.Duration(prof.DurationNano()))
		for i := range prof.Samples().Len() {
			s := prof.Samples().At(i)
			fmt.Fprint(&b, " ", s.Values().AsRaw())
			for _, a := range s.AttributeIndices().AsRaw() {
				kv := d.AttributeTable().At(int(a))
				fmt.Fprint(&b, " ", text(kv.KeyStrindex()), "=", kv.Value().AsString())
			}
			for _, l := range d.StackTable().At(int(s.StackIndex())).LocationIndices().AsRaw() {
				fmt.Fprint(&b, " ", frame(d, d.LocationTable().At(int(l))))
			}
			fmt.Fprint(&b, ";")
		}
		for _, a := range prof.AttributeIndices().AsRaw() {
			kv := d.AttributeTable().At(int(a))
			fmt.Fprint(&b, " ", text(kv.KeyStrindex()), "=", kv.Value().AsString())
		}
		fmt.Fprintln(&b, " period", prof.Period())
	}
	const a = "thread.name=a process.pid=7 4660 read /lib/libc.so abcd 1280 main main.c 7;"
	const c = " thread.name=b 1280 main main.c 7;"
	const cut = " thread.name=a process.pid=7 ppscript.stack.cut=true; ppscript.loss.lost=3" +
		" ppscript.estimated.events=0.25 ppscript.estimated.time=1 ppscript.estimated.budget=0.5 period 10\n"
	want := "samples count 1700000000 10s: [3] " + a + " [1]" + c + " [2]" + cut +
		"cpu nanoseconds 1700000000 10s: [30] " + a + " [10]" + c + " [20]" + cut
	if got := b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// frame shows a location.
func frame(d pprofile.ProfilesDictionary, l pprofile.Location) string {
	text := func(i int32) string { return d.StringTable().At(int(i)) }
	line := l.Lines().At(0)
	fn := d.FunctionTable().At(int(line.FunctionIndex()))
	s := fmt.Sprint(l.Address(), " ", text(fn.NameStrindex()))
	if m := d.MappingTable().At(int(l.MappingIndex())); l.MappingIndex() > 0 {
		s += " " + text(m.FilenameStrindex())
		for _, a := range m.AttributeIndices().AsRaw() {
			s += " " + d.AttributeTable().At(int(a)).Value().AsString()
		}
	}
	if line.Line() > 0 {
		s += fmt.Sprint(" ", text(fn.FilenameStrindex()), " ", line.Line())
	}
	return s
}

// What a collector refuses of a message that arrived is an error at the end.
func TestPartialSuccess(t *testing.T) {
	url, _ := collector(t, func() []byte {
		resp := pmetricotlp.NewExportResponse()
		resp.PartialSuccess().SetRejectedDataPoints(5)
		resp.PartialSuccess().SetErrorMessage("too many labels")
		b, err := resp.MarshalProto()
		if err != nil {
			t.Error(err)
		}
		return b
	})
	s := open(t, MetricsOption, url)
	s.SendMetrics(metric.NewStore(0))
	if err := s.Close(); err == nil || !strings.Contains(err.Error(),
		"5 values were refused: the server refused a "+
			"part: too many labels") {
		t.Errorf("got %v, want 5 refused", err)
	}
}
