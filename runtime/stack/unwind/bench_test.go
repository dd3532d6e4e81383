package unwind

import (
	"os"
	"testing"

	"ppscript/runtime/stack/dso"
)

// The cost of the first sample of a file: a Go program, and the C library.
func BenchmarkLoadModule(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	f := func(name, path string) {
		if _, err := os.Stat(path); err != nil {
			return
		}
		b.Run(name, func(b *testing.B) {
			store := dso.NewStore(dso.Options{})
			defer store.Close()
			file, err := store.Open(nil, path)
			if err != nil {
				b.Fatal(err)
			}
			rows := 0
			b.ReportAllocs()
			for b.Loop() {
				rows = 0
				for _, t := range loadModule(store, file).tables {
					rows += t.Len()
				}
			}
			if rows < 1000 {
				b.Errorf("got %d rows, want thousands", rows)
			}
			b.ReportMetric(float64(rows), "rows")
		})
	}
	f("go", self)
	f("libc", "/lib/x86_64-linux-gnu/libc.so.6")
}
