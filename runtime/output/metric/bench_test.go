package metric

import (
	"fmt"
	"testing"

	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// What an interval of a thousand keys costs, and what a scrape of them.
func BenchmarkThousandKeys(b *testing.B) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprint("key", i))
	}
	table := calls(1, names...)
	var rows []result.KeyDistribution
	for _, row := range table.Rows {
		r := result.KeyDistribution{Key: row[:1]}
		for i := range 20 {
			r.Buckets = append(r.Buckets, result.Bucket{Lo: 512 << i, Hi: 1024 << i, Count: 10})
		}
		rows = append(rows, r)
	}
	hist := result.NewHistogram(result.Meta{Name: "histogram"}, table.Columns[:1],
		result.Column{Name: "delay", Unit: unit.US}, rows)
	s := NewStore(0)
	r := s.Script("x")
	b.Run("interval", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = r.Show(table)
			_ = r.Show(hist)
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if n := len(s.Snapshot()); n < 10 {
				b.Fatalf("got %d metrics", n)
			}
		}
	})
}
