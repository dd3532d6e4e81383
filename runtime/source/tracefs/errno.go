package tracefs

import "ppscript/runtime/system/kernel"

// errnoName is the name of the error in an error pointer (the last 4095
// addresses), "" if addr is none.
func errnoName(addr uint64) string {
	if n := -int64(addr); n > 0 && n < 4096 {
		return kernel.ErrnoName(n)
	}
	return ""
}
