package load

import (
	"errors"

	"ppscript/runtime/event"
)

// Runs are programs that decide about samples. They are kept for what they count.
type Runs []*Run

// Loss returns the samples about which they could not decide, since the last call.
func (s Runs) Loss() (event.Loss, error) {
	var lost event.Loss
	for _, run := range s {
		l, err := run.Loss()
		if err != nil {
			return lost, err
		}
		lost.Add(l.Joins)
	}
	return lost, nil
}

// Close takes them out of the kernel.
func (s *Runs) Close() error {
	var errs []error
	for _, run := range *s {
		errs = append(errs, run.Close())
	}
	*s = nil
	return errors.Join(errs...)
}
