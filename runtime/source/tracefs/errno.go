package tracefs

import "ppscript/runtime/system/kernel"

// errnoName returns the name of the error in an error pointer (the last 4095
// addresses), "" for other addresses.
func errnoName(addr uint64) string {
	if n := -int64(addr); n > 0 && n < 4096 {
		return kernel.ErrnoName(n)
	}
	return ""
}
