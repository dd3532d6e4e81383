// Package prometheus serves metrics that Prometheus scrapes: in its text format, as
// OpenMetrics, and as protocol buffers, where distributions are also native histograms.
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

// most bounds the number of concurrent scrapes.
const most = 4

// Handler returns the handler of /metrics. say prints errors of scrapes.
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

// lines is a writer that calls the function for each write, which is one line.
type lines func(line string)

func (f lines) Write(p []byte) (int, error) {
	f("metrics: " + string(p[:max(len(p)-1, 0)]))
	return len(p), nil
}

// A collector makes the metrics at each scrape. It describes none in advance, since
// they are not known.
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

// one is one series of a metric.
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

// zeroWidth is the absolute value below which values count as 0. All our values other
// than 0 are larger, since they are whole numbers of a base unit such as ns.
const zeroWidth = 1e-10

// histogram returns a classic and native histogram in one; the server chooses.
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
			Length: proto.Uint32(0)}} // an empty span marks an empty native histogram
	}
	return out
}

// spans returns the ranges of adjacent buckets, and the difference of each count to
// the previous one.
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
