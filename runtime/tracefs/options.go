package tracefs

import "ppscript/runtime/event"

// Options is what rendering needs beyond the record. The zero value works.
// It may be filled until the first event is rendered.
type Options struct {
	// Ksym finds the kernel function of an address: its name (with
	// " [module]" after it where there is one), the offset of addr in it
	// and its size. Nil, or ok false, renders the address as hex.
	Ksym func(addr uint64) (name string, off, size uint64, ok bool)
	// HZ is the traced kernel's timer frequency, needed by the few events
	// that print jiffies; 0 if it is not known.
	HZ int
}

// attach makes the schema render by its print fmt. Both functions build what
// they need at the first call: a catalogue of 2,300 schemas is cheap as long
// as nobody prints.
func (o *Options) attach(s *event.Schema) {
}
