package tracefs

import (
	"slices"
	"sync"

	"ppscript/runtime/event"
)

// Options gives rendering the facts that a record lacks: the kernel's
// functions, strings and enumerators, its timer frequency. The zero value
// works. FS fills in those of this machine. Set members before the first
// event of a schema is rendered; they are called from the goroutine that
// renders.
type Options struct {
	// Ksym finds the kernel function of an address: its name (with
	// " [module]" after it where there is one), the offset of addr in it
	// and its size. Nil, or ok false, renders the address as hex.
	Ksym func(addr uint64) (name string, off, size uint64, ok bool)
	// Strings finds the kernel's string constant at an address, as
	// printk_formats lists them. Nil, or ok false, renders the address.
	Strings func(addr uint64) (string, bool)
	// Enums returns the values of those enumerators that it knows; print
	// fmts have some by name only. Nil knows none.
	Enums func(names []string) map[string]int64
	// HZ is the traced kernel's timer frequency, needed by the few events
	// that print jiffies; 0 if it is not known.
	HZ int
}

// attach makes the schema render by its print fmt. The printer is built at the
// first use: a catalogue of 2,300 schemas is cheap as long as nobody prints.
func (o *Options) attach(s *event.Schema) {
	// The kernel prints the fields as they lie in the record.
	laid := &event.Schema{System: s.System, Name: s.Name, ID: s.ID, Type: s.Type,
		Fields: slices.Clone(s.Fields), PrintFmt: s.PrintFmt, Size: s.Size}
	var once sync.Once
	var p *printer
	get := func() *printer {
		once.Do(func() { p = newPrinter(laid, o) })
		return p
	}
	s.Text = func(dst []byte, e *event.Event) []byte { return get().appendText(dst, e) }
	s.Symbolic = func(field string) *event.Symbols { return get().symbolsOf(field) }
	s.SymbolicOf = func(field string, e *event.Event) (string, bool) { return get().symbolicOf(field, e) }
	attachShown(s, get)
}
