package kernel

import (
	"math"
	"testing"
)

func TestErrnoName(t *testing.T) {
	for n, want := range map[int64]string{
		2:             "ENOENT",
		-2:            "ENOENT",
		-95:           "EOPNOTSUPP",
		-11:           "EAGAIN",
		-512:          "ERESTARTSYS",
		0:             "",
		-4096:         "",
		math.MinInt64: "",
		4095:          "",
	} {
		if got := ErrnoName(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
