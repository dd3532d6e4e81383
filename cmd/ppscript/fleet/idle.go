//go:build !race && !nohub

package fleet

import (
	_ "unsafe" // for go:linkname
)

// procStatFile is what the server's package pse reads at each second, from when the program begins, in
// whatever command: to tell its share of a CPU to monitors of the server. Every run would wake
// once a second for that, and most of them are no servers.
//
//go:linkname procStatFile github.com/nats-io/nats-server/v2/server/pse.procStatFile
var procStatFile string

// Idle ends that: the name is none that a file can have, and the next reading, which fails before it asks
// the kernel, is the last one. It is for the beginning of the program.
func Idle() { procStatFile = "\x00" }
