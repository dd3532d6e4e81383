// Package render turns results and events into text, JSON, CSV or Markdown.
//
// It is the only package that formats for people. The session hands it each
// result when it is complete and each event of a log as it comes; it keeps
// nothing but its output buffer. It never leaves out a row, and shows the
// losses of every result.
//
//	r, err := render.New(os.Stdout, render.Options{Format: "text", Clock: clock, Notes: os.Stderr})
//	err = r.Show(t)
//	err = r.Flush()
//
// Text from the observed system (comm, paths, strings of programs) may hold
// anything; it reaches a terminal or a file only with control characters
// escaped.
package render
