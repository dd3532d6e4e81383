package symbol

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"

	"ppscript/runtime/text/diag"
)

// This file keeps the kernel's 120,000 to 250,000 symbols in 16 bytes each,
// plus their names. The names are stored one after another in blocks that are
// filled once and never grown: a single growing buffer would copy, and leave as
// garbage, several times its final size. A look-up is a binary search, and the
// strings that it returns are parts of the blocks.
//
// The tempting map from names to addresses is left out: it would use more
// memory than all else, and names are looked up only a few times in a run.

// Kernel has the symbols of one kernel. Several goroutines may use it.
//
// The symbols of the running kernel are read once, without modules and BPF
// programs that are loaded later.
type Kernel struct {
	path  string // file to read at the first use; "" if the symbols were parsed
	once  sync.Once
	err   error
	syms  []sym // by address, then in the order of the file
	block []string

	mu    sync.Mutex
	texts map[uint64]string // results of Text
}

// sym is one symbol. The high half of at is the number of a block, the low half
// the offset in it of the name with the module, "name [module]".
type sym struct {
	addr uint64
	at   uint32
	name uint16 // length of the name alone
	full uint16 // length with the module
}

// kernelHalf is the lowest possible kernel address, on amd64 and arm64. Symbols
// below it are offsets into the per-CPU areas of old kernels.
const kernelHalf = 1 << 63

// maxTexts bounds the texts that Text keeps.
const maxTexts = 16384

const pageSize = 4096

// NewKernel makes the symbols of the running kernel, which are read from path
// at the first use; "" means /proc/kallsyms.
func NewKernel(path string) *Kernel {
	if path == "" {
		path = "/proc/kallsyms"
	}
	return &Kernel{path: path}
}

// Err is the reason why there are no symbols, nil if there are some.
func (k *Kernel) Err() error {
	k.load()
	return k.err
}

// Len is the number of symbols.
func (k *Kernel) Len() int {
	k.load()
	return len(k.syms)
}

func (k *Kernel) load() {
	if k.path == "" {
		return
	}
	k.once.Do(func() {
		f, err := os.Open(k.path)
		if err == nil {
			err = k.parse(f)
			f.Close()
		}
		if err != nil {
			k.syms, k.block = nil, nil
			k.err = (&diag.Error{Op: "read", Subject: k.path, Class: diag.Attach, Cause: err}).
				WithHint("run doctor to see what this kernel offers: ppscript doctor")
		}
	})
}

// errHidden is the reason if all addresses are 0.
var errHidden = errors.New("all addresses are hidden from this user")

// hide records that the text had symbols without addresses.
func (k *Kernel) hide() {
	subject := k.path
	if subject == "" {
		subject = "kernel symbols"
	}
	k.err = (&diag.Error{Op: "read", Subject: subject, Class: diag.Attach, Cause: errHidden}).
		WithHint("run as root, or: sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1")
}

// Lookup finds the symbol that contains addr. It returns its name, the offset
// of addr from its start, its size, and the module without brackets, "" for the
// kernel itself. Of several names for an address it takes the first in the
// file, as in the kernel's own messages.
func (k *Kernel) Lookup(addr uint64) (name string, off, size uint64, module string, ok bool) {
	s, size, ok := k.find(addr)
	if !ok {
		return "", 0, 0, "", false
	}
	full := k.text(s)
	if s.full > s.name {
		module = full[s.name+2 : s.full-1]
	}
	return full[:s.name], addr - s.addr, size, module, true
}

// Ksym is like Lookup, with the module after the name: "name [module]".
func (k *Kernel) Ksym(addr uint64) (name string, off, size uint64, ok bool) {
	s, size, ok := k.find(addr)
	if !ok {
		return "", 0, 0, false
	}
	return k.text(s), addr - s.addr, size, true
}

func (k *Kernel) find(addr uint64) (*sym, uint64, bool) {
	if addr < kernelHalf {
		return nil, 0, false
	}
	k.load()
	// The first symbol above addr; the one before it is the last that starts
	// at or below.
	lo, hi := 0, len(k.syms)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if k.syms[mid].addr <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return nil, 0, false
	}
	first := lo - 1
	for first > 0 && k.syms[first-1].addr == k.syms[first].addr {
		first--
	}
	s := &k.syms[first]
	size := k.size(s, lo)
	return s, size, addr-s.addr < size
}

// size is the distance to the next symbol, which has index next. The last
// symbol of a module or of the kernel may be followed by anything, so it ends
// with its page.
func (k *Kernel) size(s *sym, next int) uint64 {
	end := s.addr&^(pageSize-1) + (pageSize - 1) // the last byte, since the end of the last page overflows
	if next < len(k.syms) {
		n := &k.syms[next]
		if k.moduleText(n) == k.moduleText(s) || n.addr <= end {
			return n.addr - s.addr
		}
	}
	return end - s.addr + 1
}

func (k *Kernel) text(s *sym) string {
	off := s.at & (blockSize - 1)
	return k.block[s.at/blockSize][off : off+uint32(s.full)]
}

func (k *Kernel) moduleText(s *sym) string { return k.text(s)[s.name:] }

// Address finds the address of a symbol, given as "name", or "name [module]" if
// the name alone is ambiguous. Of several addresses it returns the lowest.
func (k *Kernel) Address(name string) (uint64, bool) {
	k.load()
	for i := range k.syms {
		s := &k.syms[i]
		if int(s.name) != len(name) && int(s.full) != len(name) {
			continue
		}
		if full := k.text(s); full == name || full[:s.name] == name {
			return s.addr, true
		}
	}
	return 0, false
}

// AppendSymbol appends an address in the form of the kernel's %pS:
// name+0xoff/0xsize and the module; in hex if no symbol contains it.
func (k *Kernel) AppendSymbol(dst []byte, addr uint64) []byte {
	s, size, ok := k.find(addr)
	if !ok {
		return strconv.AppendUint(append(dst, "0x"...), addr, 16)
	}
	full := k.text(s)
	dst = strconv.AppendUint(append(append(dst, full[:s.name]...), "+0x"...), addr-s.addr, 16)
	dst = strconv.AppendUint(append(dst, "/0x"...), size, 16)
	return append(dst, full[s.name:]...)
}

// Name is the name of the symbol that contains addr, the address in hex if there
// is none. Names of symbols allocate nothing.
func (k *Kernel) Name(addr uint64) string {
	if s, _, ok := k.find(addr); ok {
		return k.text(s)[:s.name]
	}
	return k.Text(addr)
}

// Text is "name+0xoff", or "name" at the start of the symbol; the address in
// hex if no symbol contains it. Texts are cached, so that repeated calls for
// the same few thousand addresses allocate nothing.
func (k *Kernel) Text(addr uint64) string {
	s, _, ok := k.find(addr)
	if ok && addr == s.addr {
		return k.text(s)[:s.name]
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if t, known := k.texts[addr]; known {
		return t
	}
	if k.texts == nil || len(k.texts) >= maxTexts {
		k.texts = make(map[uint64]string)
	}
	var t string
	if ok {
		t = k.text(s)[:s.name] + "+0x" + strconv.FormatUint(addr-s.addr, 16)
	} else {
		t = "0x" + strconv.FormatUint(addr, 16)
	}
	k.texts[addr] = t
	return t
}

// order sorts by address. Aliases stay in the order of the file. The file is
// sorted except for modules and BPF programs.
func (k *Kernel) order() {
	byAddr := func(a, b sym) int {
		switch {
		case a.addr < b.addr:
			return -1
		case a.addr > b.addr:
			return 1
		}
		return 0
	}
	if !slices.IsSortedFunc(k.syms, byAddr) {
		slices.SortStableFunc(k.syms, byAddr)
	}
	k.syms = slices.Clip(k.syms)
}
