//go:build race && !nohub

package fleet

// Idle does nothing in a binary with the race detector, which cannot know that the server's timer of a second
// goes off after the begin of the program.
func Idle() {}
