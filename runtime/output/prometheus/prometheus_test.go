package prometheus

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"ppscript/runtime/event"
	"ppscript/runtime/output/metric"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// some is a store with metrics of every kind.
func some(t *testing.T) *metric.Store {
	s := metric.NewStore(0)
	r := s.Script("syscalls")
	keys := []result.Column{{Name: "syscall", Kind: result.KeyColumn}}
	err := r.Show(&result.Table{
		Meta: result.Meta{Name: "table"},
		Columns: append(keys, result.Column{Name: "count", Merging: result.Added},
			result.Column{Name: "sum", Unit: unit.US, Merging: result.Added}, result.Column{Name: "bucket"},
			result.Column{Name: "%gsys", Unit: unit.Percent}),
		Rows: [][]event.Value{
			{event.StrOf("re\"ad\n\xff"), event.IntOf(3), event.DurationOf(7), event.FloatOf(0.5),
				event.FloatOf(12.5)},
			{event.StrOf("write"), event.IntOf(4), event.DurationOf(9), event.FloatOf(1.5),
				event.FloatOf(25)},
		},
	})
	if err == nil {
		err = r.Show(result.NewHistogram(result.Meta{Name: "histogram"}, keys,
			result.Column{Name: "delay", Unit: unit.US}, []result.KeyDistribution{{
				Key: []event.Value{event.StrOf("read")},
				Distribution: result.Distribution{Sum: 30_000, Buckets: []result.Bucket{
					{Lo: result.OpenLo, Hi: 1, Count: 2}, {Lo: 1024, Hi: 2048, Count: 10},
					{Lo: 4096, Hi: 8192, Count: 5},
				}},
			}}))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func scrape(t *testing.T, s *metric.Store, accept string) (body string, header http.Header) {
	h, err := Handler(s, func(line string) { t.Error(line) })
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest("GET", "/metrics", nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if w.Code != http.StatusOK {
		t.Fatalf("got status %d: %s", w.Code, w.Body)
	}
	return w.Body.String(), w.Header()
}

// Prometheus' own linter has no complaint.
func TestLint(t *testing.T) {
	text, _ := scrape(t, some(t), "text/plain")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("got %v, %v, want none\n%s", problems, err, text)
	}
	for _, want := range []string{
		`ppscript_syscalls_count_total{syscall="re\"ad\\n\\xff"} 3`,
		`ppscript_syscalls_seconds_total{syscall="write"} 9e-09`,
		`ppscript_syscalls_bucket_value{syscall="write"} 1.5`,
		`ppscript_syscalls_gsys_ratio{syscall="write"} 0.25`,
		`ppscript_syscalls_delay_seconds_bucket{syscall="read",le="0"} 2`,
		`ppscript_syscalls_delay_seconds_bucket{syscall="read",le="2.047e-06"} 12`,
		`ppscript_syscalls_delay_seconds_bucket{syscall="read",le="4.095e-06"} 12`,
		`ppscript_syscalls_delay_seconds_bucket{syscall="read",le="+Inf"} 17`,
		`ppscript_syscalls_delay_seconds_sum{syscall="read"} 3e-05`,
		`ppscript_loss_total{kind="lost",result="table",script="syscalls"} 0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestNative checks that as protocol buffers there are native histograms, with all values in the
// right buckets.
func TestNative(t *testing.T) {
	body, header := scrape(t, some(t), string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	d := expfmt.NewDecoder(strings.NewReader(body), expfmt.ResponseFormat(header))
	for {
		var f dto.MetricFamily
		if err := d.Decode(&f); err == io.EOF {
			t.Fatal("no histogram")
		} else if err != nil {
			t.Fatal(err)
		}
		if f.GetType() != dto.MetricType_HISTOGRAM {
			continue
		}
		h := f.Metric[0].Histogram
		got, n := fmt.Sprint(h.GetSchema(), h.GetZeroCount()), int64(0)
		at := int32(0)
		var count int64
		i := 0
		for _, s := range h.PositiveSpan {
			at += s.GetOffset()
			for range s.GetLength() {
				count += h.PositiveDelta[i]
				n += count
				upper := math.Exp2(float64(at) / 8)
				if upper < 1.02e-6 || upper > 8.95e-6 || upper > 2.25e-6 && upper < 4.09e-6 {
					t.Errorf("%d values up to %g", count, upper)
				}
				i, at = i+1, at+1
			}
		}
		if got != "3 2" || n != 15 || h.GetSampleCount() != 17 {
			t.Errorf("got schema and zeros %s, %d others of %d; want 3 2, 15 of 17", got, n,
				h.GetSampleCount())
		}
		return
	}
}

// OpenMetrics says that it is whole.
func TestOpenMetrics(t *testing.T) {
	text, header := scrape(t, some(t), "application/openmetrics-text; version=1.0.0")
	if !strings.HasSuffix(text, "# EOF\n") || !strings.HasPrefix(header.Get("Content-Type"),
		"application/openmetrics-text") {
		t.Errorf("got %s of type %s", text, header.Get("Content-Type"))
	}
}
