// Package prometheus shows metrics to Prometheus, which comes for them: in its text form, in
// that of OpenMetrics, and as protocol buffers, in which distributions are native histograms
// as well.
package prometheus

import (
	"log"
	"maps"
	"net/http"
	"slices"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"ppscript/runtime/output/metric"
)

// most is how many scrapes there may be at once.
const most = 4

// Handler answers scrapes of /metrics. What goes wrong while it does is said with say.
func Handler(store *metric.Store, say func(line string)) (http.Handler, error) {
	reg := client.NewRegistry()
	if err := reg.Register(collector{store}); err != nil {
		return nil, err
	}
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog:            log.New(lines(say), "", 0),
		ErrorHandling:       promhttp.HTTPErrorOnError,
		MaxRequestsInFlight: most,
		EnableOpenMetrics:   true,
	}), nil
}

// lines is a writer of which each write is a line.
type lines func(line string)

func (f lines) Write(p []byte) (int, error) {
	f("metrics: " + string(p[:max(len(p)-1, 0)]))
	return len(p), nil
}

// A collector makes the metrics at each scrape. Which there are is not known before: it
// describes none.
type collector struct{ store *metric.Store }

func (collector) Describe(chan<- *client.Desc) {}

// Collect implements client.Collector.
func (c collector) Collect(to chan<- client.Metric) {
	start := timestamppb.New(c.store.Start)
	for _, f := range c.store.Snapshot() {
		desc := client.NewDesc(f.Name, f.Help, f.Labels, nil)
		for i := range f.Series {
			to <- &one{desc, &f, &f.Series[i], start}
		}
	}
}

// one is a series.
type one struct {
	desc   *client.Desc
	family *metric.Family
	series *metric.Series
	start  *timestamppb.Timestamp
}

func (m *one) Desc() *client.Desc { return m.desc }

// Write implements client.Metric.
func (m *one) Write(out *dto.Metric) error {
	for i, name := range m.family.Labels {
		out.Label = append(out.Label, &dto.LabelPair{Name: proto.String(name),
			Value: proto.String(m.series.Labels[i])})
	}
	slices.SortFunc(out.Label, func(a, b *dto.LabelPair) int {
		if a.GetName() < b.GetName() {
			return -1
		}
		return 1
	})
	switch m.family.Kind {
	case metric.Counter:
		out.Counter = &dto.Counter{Value: proto.Float64(m.series.Value), CreatedTimestamp: m.start}
	case metric.Gauge:
		out.Gauge = &dto.Gauge{Value: proto.Float64(m.series.Value)}
	default:
		out.Histogram = histogram(m.series.Hist)
		out.Histogram.CreatedTimestamp = m.start
	}
	return nil
}

// zeroWidth is how far from 0 the values are that count as 0: ours are whole numbers of
// something.
const zeroWidth = 1e-10

// histogram has both forms: a server that asks for native histograms takes those.
func histogram(h *metric.Hist) *dto.Histogram {
	out := &dto.Histogram{SampleCount: proto.Uint64(h.Count), SampleSum: proto.Float64(h.Sum)}
	for i, upper := range h.Upper {
		out.Bucket = append(out.Bucket,
			&dto.Bucket{UpperBound: proto.Float64(upper), CumulativeCount: proto.Uint64(h.Below[i])})
	}
	e := h.Exponential()
	out.Schema, out.ZeroThreshold, out.ZeroCount = proto.Int32(metric.Schema), proto.Float64(zeroWidth),
		proto.Uint64(e.Zero)
	out.PositiveSpan, out.PositiveDelta = spans(e.Positive)
	out.NegativeSpan, out.NegativeDelta = spans(e.Negative)
	if len(out.PositiveSpan)+len(out.NegativeSpan) == 0 {
		out.PositiveSpan = []*dto.BucketSpan{{Offset: proto.Int32(0),
			Length: proto.Uint32(0)}} // it is native all the same
	}
	return out
}

// spans are runs of buckets without gaps, and by how much each count differs from that
// before.
func spans(counts map[int]uint64) (list []*dto.BucketSpan, deltas []int64) {
	var before int64
	next := 0
	for _, i := range slices.Sorted(maps.Keys(counts)) {
		if len(list) == 0 || i != next {
			list = append(list, &dto.BucketSpan{Offset: proto.Int32(int32(i - next)),
				Length: proto.Uint32(0)})
		}
		last := list[len(list)-1]
		*last.Length++
		n := int64(counts[i])
		deltas = append(deltas, n-before)
		before, next = n, i+1
	}
	return list, deltas
}
