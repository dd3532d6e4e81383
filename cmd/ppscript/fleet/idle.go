//go:build !race && !nohub

package fleet

import (
	_ "unsafe" // for go:linkname
)

// procStatFile is the name of a file that the NATS server's package pse reads every second from the
// start of the program, in every command, to measure the server's share of a CPU. Every run would
// wake once a second for it, although most runs are no servers.
//
//go:linkname procStatFile github.com/nats-io/nats-server/v2/server/pse.procStatFile
var procStatFile string

// Idle ends these reads. It sets an invalid name, so that the next read fails without a system
// call, and a failed read is the last. It must be called at the beginning of the program.
func Idle() { procStatFile = "\x00" }
