package event

// Time is a moment on the clock that the source stamps records with, in
// nanoseconds. Live sources and recordings use perf's own clock, whose zero is
// near boot; it is neither CLOCK_MONOTONIC nor wall-clock time.
type Time int64

// MaxTime is later than every real Time.
const MaxTime Time = 1<<63 - 1
