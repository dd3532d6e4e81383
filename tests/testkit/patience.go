package testkit

import "time"

// Patience returns how long a test waits for an expected event before it gives up: d, or six times
// d with the race detector, which makes code so much slower. Results must not depend on it.
func Patience(d time.Duration) time.Duration {
	if race {
		return 6 * d
	}
	return d
}
