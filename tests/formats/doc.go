// Package formats checks ppscript's output for programs against docs/formats.md,
// which is the contract: it reads the tables of that page, and returns the
// places where JSON and CSV do not fit them. tests/shipped and tests/matrix use
// it for every profiler, over recordings and live.
//
//	f := formats.Read(t)
//	for _, wrong := range f.JSON(out.Stdout) { t.Error(wrong) }
package formats
