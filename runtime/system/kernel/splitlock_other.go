//go:build !amd64

package kernel

import "ppscript/runtime/text/diag"

// CheckSplitLocks returns the error that this CPU has no split locks.
func CheckSplitLocks() error {
	return diag.Errorf(diag.Run, "split locks", "", "only x86 CPUs lock memory across cache lines").
		WithHint("use a machine with an Intel or AMD CPU")
}

// SplitLocks does nothing: only x86 has split locks.
func SplitLocks(<-chan struct{}) uint32 { return 0 }
