//go:build race && !nohub

package fleet

// Idle does nothing in a binary with the race detector, which would report the write as a race with
// the server's timer.
func Idle() {}
