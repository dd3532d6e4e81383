// Package session runs a plan: it opens the sources, passes their events to the
// plan's operators, makes results at every interval and at the end, passes them
// to a renderer, and closes everything again.
//
// It is the only package that opens things. Run has one goroutine; signals
// come in as the end of its context.
package session
