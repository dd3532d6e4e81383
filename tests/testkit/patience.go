package testkit

import "time"

// Patience is how long a test waits for an event that comes, before it gives up: d, or six times that with
// the race detector, which makes code that much slower. It is a bound of no result.
func Patience(d time.Duration) time.Duration {
	if race {
		return 6 * d
	}
	return d
}
