package perf

import (
	"errors"

	"ppscript/runtime/tsc"
)

// Capabilities of the page: which of its members are valid.
const capUserTimeZero = 1 << 4

// errNoTSC says why there is no relation.
var errNoTSC = errors.New("the kernel does not tell how its clock and the time stamp counter are related: " +
	"its clock source is another, or the counter is not stable")

// TSC returns the relation, which does not change while the machine runs.
func (s *Source) TSC() (tsc.TSC, error) {
	for _, r := range s.rings {
		r, ok := r.(*ring)
		if !ok || r.page == nil || r.page.Capabilities&capUserTimeZero == 0 || r.page.Time_mult == 0 {
			continue
		}
		return tsc.TSC{Mult: r.page.Time_mult, Shift: r.page.Time_shift, Zero: r.page.Time_zero}, nil
	}
	return tsc.TSC{}, errNoTSC
}
