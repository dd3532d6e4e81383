package tracefs

import (
	"slices"
	"sync"

	"ppscript/runtime/event"
)

// Options has the facts that are needed to print a record and are not in the
// record: the kernel's functions, strings and enumerators, and its timer
// frequency. The zero value works. FS sets the values of this machine. Set the
// members before the first event of a schema is rendered; the functions are
// called on the goroutine that renders.
type Options struct {
	// Ksym finds the kernel function of an address: its name (with
	// " [module]" after it where there is one), the offset of addr in it
	// and its size. Nil, or ok false, renders the address as hex.
	Ksym func(addr uint64) (name string, off, size uint64, ok bool)
	// Strings finds the kernel's string constant at an address, as
	// printk_formats lists them. Nil, or ok false, renders the address.
	Strings func(addr uint64) (string, bool)
	// Enums returns the values of known enumerators; print fmts have some by
	// name only. It may be nil.
	Enums func(names []string) map[string]int64
	// HZ is the traced kernel's timer frequency, needed by the few events that
	// print jiffies; 0 if it is unknown.
	HZ int
}

// attach sets the functions of the schema that render by its print fmt. The
// printer is built at the first use, so that 2,300 schemas are cheap as long as
// they are not printed.
func (o *Options) attach(s *event.Schema) {
	// The kernel prints the fields by their layout in the record, before
	// changes to the schema.
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
