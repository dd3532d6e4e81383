// Package render writes results and events as text, JSON, CSV or Markdown. It
// also writes flame graphs, folded stacks, heat maps and pprof's format.
//
// The session passes each result to a Renderer when it is complete, and each
// event of a log when it arrives. A Renderer keeps only its output buffer. It
// writes all rows, and shows the losses of every result.
//
//	r, err := render.New(os.Stdout, render.Options{Format: "text", Clock: clock, Notes: os.Stderr})
//	err = r.Show(t)
//	err = r.Flush()
//
// Text from the observed system (comm, paths, strings of programs) may contain
// any bytes. Control characters in it are escaped ("cleaned") before it is
// written.
package render
