package naming

import (
	"fmt"
	"iter"
	"time"

	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/stack/debuginfod"
	"ppscript/runtime/stack/dso"
)

// This file names stacks whose files are fetched from servers. Nothing waits for a server while
// events come: the caller gets no name, and asks again with the next result. Only the last
// results wait, as long as files are being received.

// Servers has the servers to ask for files, and the directory for the files.
type Servers struct {
	URLs  []string
	Cache string // a directory
	// Plain are directories with files of any name.
	Plain []string
	// Waited is called with the time that the last results have waited; may be
	// nil.
	Waited func(d time.Duration, pending int)
}

// mostRounds bounds the rounds in which names need further files: a program, then its
// debug file.
const mostRounds = 4

// elsewhere makes the client for the servers, if there are any.
func (o *Options) elsewhere() (e dso.Elsewhere, c *debuginfod.Client) {
	e.Plain = o.Servers.Plain
	if len(o.Servers.URLs) == 0 {
		return e, nil
	}
	say := func(text string) {
		if o.Say != nil {
			o.Say(text)
		}
	}
	c, err := debuginfod.New(debuginfod.Options{URLs: o.Servers.URLs, Dir: o.Servers.Cache})
	if err != nil {
		say(fmt.Sprintf("--debuginfod: the cache cannot be written, so that no server is asked: %v", err))
		return e, nil
	}
	e.Fetch = c
	return e, c
}

// Ending says that the next results are the last.
func (n *Namer) Ending() { n.ending = true }

// absorb uses the files that were fetched.
func (n *Namer) absorb() {
	if n.fetch == nil {
		return
	}
	for _, line := range n.fetch.Messages() {
		n.say(line)
	}
	n.adopt()
	if n.maps == nil {
		return
	}
	if files := n.maps.Files().Fetched(); len(files) > 0 {
		n.symbols.Fetched(files)
		n.clearFrames()
	}
}

// fetchFor requests the files of stacks that are about to be shown, and waits for them if these
// are the last results.
func (n *Namer) fetchFor(ids iter.Seq[stack.ID]) {
	if n.fetch == nil {
		return
	}
	var line []*result.Frame
	for range mostRounds {
		n.absorb()
		n.prepare(ids)
		for id := range ids {
			line, _ = n.Frames(line[:0], id)
		}
		if !n.ending || n.fetch.Pending() == 0 || !n.wait() {
			break
		}
	}
	n.absorb()
}

// wait waits until all files were fetched; false if that takes too long.
func (n *Namer) wait() bool {
	left := n.fetch.Settle(n.opt.Servers.Waited)
	if left > 0 {
		n.ending = false // do not wait again
		n.say(fmt.Sprintf("%d files did not come from debuginfod in time: "+
			"some functions have no names", left))
	}
	return left == 0
}
