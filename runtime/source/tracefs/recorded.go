package tracefs

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"ppscript/runtime/event"
)

// This file renders events of another machine with the symbols and string
// constants in a recording.

// Recorded returns the Options for a recorded kernel, from the texts of its kallsyms
// and printk_formats. Either text may be empty. They are parsed at the first use.
func Recorded(kallsyms, printkFormats string) *Options {
	o := new(Options)
	if kallsyms != "" {
		table := sync.OnceValue(func() functions { return parseKallsyms(kallsyms) })
		o.Ksym = func(addr uint64) (string, uint64, uint64, bool) { return table().find(addr) }
	}
	if printkFormats != "" {
		table := sync.OnceValue(func() func(uint64) (string, bool) { return parseStrings(printkFormats) })
		o.Strings = func(addr uint64) (string, bool) { return table()(addr) }
	}
	return o
}

// ParseFormat parses a tracepoint's format file. Schema.Text uses o.
func (o *Options) ParseFormat(system string, text []byte) (*event.Schema, error) {
	return o.parseFormat(system, text)
}

// functions are the symbols of a kernel's text, by address.
type functions []function

type function struct {
	addr uint64
	name string // followed by " [module]" if it is in a module
}

// parseKallsyms reads lines of "ffffffff81000000 T _text	[module]".
func parseKallsyms(text string) (all functions) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		addr, err := strconv.ParseUint(words[0], 16, 64)
		if err != nil || addr == 0 || !strings.Contains("tTwW", words[1]) {
			continue
		}
		name := words[2]
		if len(words) > 3 {
			name += " " + words[3]
		}
		all = append(all, function{addr, name})
	}
	slices.SortStableFunc(all, func(a, b function) int {
		if a.addr < b.addr {
			return -1
		} else if a.addr > b.addr {
			return 1
		}
		return 0
	})
	return all
}

// find returns the function that contains an address. The end of the last
// function is unknown, so only its first byte is found.
func (f functions) find(addr uint64) (name string, off, size uint64, ok bool) {
	i := sort.Search(len(f), func(i int) bool { return f[i].addr > addr })
	if i == 0 || i == len(f) && addr != f[i-1].addr {
		return "", 0, 0, false
	}
	at := f[i-1]
	if i < len(f) {
		size = f[i].addr - at.addr
	}
	// Of several names of one address, the first is used, as in the kernel.
	for i > 1 && f[i-2].addr == at.addr {
		i--
		at = f[i-1]
	}
	return at.name, addr - at.addr, size, true
}
