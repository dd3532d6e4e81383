package otlp

import (
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"ppscript/runtime/output/metric"
)

// cumulative is AGGREGATION_TEMPORALITY_CUMULATIVE.
const cumulative = 2

// AppendMetrics appends an ExportMetricsServiceRequest with the values of families at a
// time, counted since start.
func AppendMetrics(dst []byte, families []metric.Family, resource []Attribute, start,
	now time.Time) []byte {
	m := metrics{uint64(start.UnixNano()), uint64(now.UnixNano())}
	return appendMessage(dst, 1, func(dst []byte) []byte { // ResourceMetrics
		dst = appendResource(dst, resource)
		return appendMessage(dst, 2, func(dst []byte) []byte { // ScopeMetrics
			dst = appendScope(dst, "ppscript")
			for i := range families {
				dst = appendMessage(dst, 2, func(dst []byte) []byte { return m.append(dst, &families[i]) })
			}
			return dst
		})
	})
}

// metrics are the times of a message, in ns since 1970.
type metrics struct{ start, now uint64 }

// append appends a Metric.
func (m metrics) append(dst []byte, f *metric.Family) []byte {
	dst = appendText(dst, 1, f.Name)
	dst = appendText(dst, 2, f.Help)
	unit := f.Unit.UCUM
	if unit == "" {
		unit = "1"
	}
	dst = appendText(dst, 3, unit)
	switch f.Kind {
	case metric.Counter:
		return appendMessage(dst, 7, func(dst []byte) []byte {
			dst = m.points(dst, f)
			return appendUint(appendUint(dst, 2, cumulative), 3, 1) // it is monotonic
		})
	case metric.Gauge:
		return appendMessage(dst, 5, func(dst []byte) []byte { return m.points(dst, f) })
	}
	return appendMessage(dst, 9, func(dst []byte) []byte {
		dst = m.points(dst, f)
		return appendUint(dst, 2, cumulative)
	})
}

// points appends the series.
func (m metrics) points(dst []byte, f *metric.Family) []byte {
	for i := range f.Series {
		s := &f.Series[i]
		dst = appendMessage(dst, 1, func(dst []byte) []byte {
			attributes := protowire.Number(7)
			if s.Hist != nil {
				attributes = 9
			}
			for k, name := range f.Labels {
				dst = appendAttribute(dst, attributes, name, s.Labels[k])
			}
			if f.Kind != metric.Gauge {
				dst = appendFixed(dst, 2, m.start)
			}
			dst = appendFixed(dst, 3, m.now)
			if s.Hist == nil {
				return appendDouble(dst, 4, s.Value)
			}
			return histogram(dst, s.Hist)
		})
	}
	return dst
}

// histogram appends the numbers of a HistogramDataPoint, whose bounds are
// inclusive.
func histogram(dst []byte, h *metric.Hist) []byte {
	dst = appendFixed(dst, 4, h.Count)
	dst = appendDouble(dst, 5, h.Sum)
	counts := make([]uint64, len(h.Upper)+1)
	bounds := make([]uint64, len(h.Upper))
	var below uint64
	for i, upper := range h.Upper {
		counts[i], below = h.Below[i]-below, h.Below[i]
		bounds[i] = math.Float64bits(upper)
	}
	counts[len(h.Upper)] = h.Count - below
	return appendPackedFixed(appendPackedFixed(dst, 6, counts), 7, bounds)
}
