package probe

import (
	"debug/elf"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
)

// This file resolves hardware breakpoints: a few bytes of memory for which the
// CPU reports every access. The sample has the watched address, the address of
// the instruction (for data, of the one after the access) and the registers.

// The types of accesses: HW_BREAKPOINT_R and so on.
const hwR, hwW, hwX = 1, 2, 4

// kernelHalf is the lowest address of the kernel.
const kernelHalf = 1 << 63

// ParseBreakpoint reads perf-prof's notation, ADDR[/LEN][:rwx]; ADDR is hex
// with or without 0x, or a symbol.
func ParseBreakpoint(text string) (Spec, error) {
	s := Spec{Kind: Breakpoint}
	rest, access, _ := cutLast(text, ':')
	addr, length, hasLen := cutLast(rest, '/')
	s.Name, s.Access = addr, strings.ToLower(access)
	if _, err := strconv.ParseUint(addr, 16, 64); err == nil && len(addr) > 8 {
		s.Name = "0x" + addr
	}
	if hasLen {
		n, err := strconv.Atoi(length)
		if err != nil {
			return s, diag.Errorf(diag.Usage, "breakpoint", text,
				"length: got %q, want 1, 2, 4 or 8", length).
				WithHint("write ADDR/LEN:TYPE, as in 0xffffffff82a0c040/4:w")
		}
		s.Len = n
	}
	if s.Name == "" {
		return s, diag.Errorf(diag.Usage, "breakpoint", strconv.Quote(text), "the address is missing").
			WithHint("write ADDR/LEN:TYPE, as in 0xffffffff82a0c040/4:w")
	}
	return s, nil
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// breakpoint resolves one breakpoint.
func (r *Resolver) breakpoint(s Spec) ([]*Probe, error) {
	bp := &watch{}
	if err := bp.access(&s); err != nil {
		return nil, err
	}
	name := s.Name
	var err error
	if bp.addr, err = r.breakAddress(&s); err != nil {
		return nil, err
	}
	if err := bp.check(&s); err != nil {
		return nil, err
	}
	bp.kernel, bp.place = r.Kernel, r.Place
	if _, isNumber := parseAddress(name); !isNumber {
		bp.label = name
	}
	r.core.path = r.proc() + "/kcore"
	bp.core = &r.core
	return []*Probe{{Schema: bp.schema(), Config1: bp.addr, Config2: uint64(bp.size), BPType: bp.typ}}, nil
}

// access reads the type and the length.
func (w *watch) access(s *Spec) error {
	access := s.Access
	if access == "" {
		access = "w"
	}
	for _, c := range access {
		switch c {
		case 'r':
			w.typ |= hwR
		case 'w':
			w.typ |= hwW
		case 'x':
			w.typ |= hwX
		default:
			return diag.Errorf(diag.Usage, "breakpoint", s.Name,
				"type: got %q, want w, rw, r or x", s.Access).
				WithHint(`use type = "w"`)
		}
	}
	if w.typ&hwX != 0 && w.typ != hwX {
		return diag.Errorf(diag.Usage, "breakpoint", s.Name,
			"type: got %q; no CPU watches data and execution with one breakpoint", s.Access).
			WithHint("use two breakpoints")
	}
	x86 := hostMachine() == elf.EM_X86_64
	if x86 && w.typ == hwR {
		return diag.Errorf(diag.Usage, "breakpoint", s.Name, "type: got r; x86 cannot watch reads alone").
			WithHint(`use type = "rw"`)
	}
	w.size = s.Len
	codeSize := 4
	if x86 {
		codeSize = 8 // sizeof(long), independent of the instruction's length
	}
	switch {
	case w.typ == hwX && (w.size == 0 || w.size == codeSize):
		w.size = codeSize
	case w.typ == hwX:
		return diag.Errorf(diag.Usage, "breakpoint", s.Name,
			"length: got %d, want %d for execution on this machine", w.size, codeSize).
			WithHint("leave out the length")
	case w.size == 0:
		w.size = 1
	case w.size != 1 && w.size != 2 && w.size != 4 && w.size != 8:
		return diag.Errorf(diag.Usage, "breakpoint", s.Name, "length: got %d, want 1, 2, 4 or 8", w.size).
			WithHint("use several breakpoints for more bytes")
	}
	return nil
}

// check refuses lengths and addresses that the CPU does not support.
func (w *watch) check(s *Spec) error {
	if w.typ != hwX && w.addr%uint64(w.size) != 0 {
		return diag.Errorf(diag.Usage, "breakpoint", s.Name,
			"address 0x%x is not a multiple of its length %d", w.addr, w.size).
			WithHint("use an aligned address, or length 1")
	}
	if w.addr == 0 {
		return diag.Errorf(diag.Usage, "breakpoint", s.Name,
			"address: got 0, want one of the program or kernel").
			WithHint("give the address of a variable or function")
	}
	if w.addr < kernelHalf && w.addr >= 1<<56 {
		return diag.Errorf(diag.Usage, "breakpoint", s.Name,
			"0x%x is no address of a program nor of the kernel", w.addr).
			WithHint("check the number of digits")
	}
	return nil
}

// breakAddress finds the address. The name is a number, or a variable or
// function of the process or file, else of the kernel.
func (r *Resolver) breakAddress(s *Spec) (uint64, error) {
	if addr, ok := parseAddress(s.Name); ok {
		return addr, nil
	}
	name, off, err := splitOffset(s.Name)
	if err != nil {
		return 0, err
	}
	if s.PID > 0 {
		return r.userVariable(s, name, off)
	}
	if r.PID > 0 {
		own := *s
		own.PID = r.PID
		if addr, err := r.userVariable(&own, name, off); err == nil {
			return addr, nil
		}
	}
	if r.Kernel == nil {
		return 0, diag.Errorf(diag.Attach, "open breakpoint", s.Name, "the kernel's symbols are not known").
			WithHint("give the address")
	}
	if addr, ok := r.Kernel.Address(name); ok {
		return addr + off, nil
	}
	e := diag.Errorf(diag.Attach, "open breakpoint", s.Name, "no such symbol in the kernel")
	if err := r.Kernel.Err(); err != nil {
		e.Cause = err
		return 0, e.WithHint("%s", diag.HintOf(err))
	}
	return 0, e.WithHint("kernels without CONFIG_KALLSYMS_ALL list no data: give the address; " +
		"for a variable of a program observe it with -p PID, pid = N in scripts")
}

// userVariable finds a variable or function in the memory of a process.
func (r *Resolver) userVariable(s *Spec, name string, off uint64) (uint64, error) {
	m, path, shown, err := r.open(s)
	if err != nil {
		return 0, err
	}
	addr, ok := m.symbolAddress(name)
	if !ok {
		return 0, s.fail(s.Name, shown, errors.New("no such symbol"+diag.DidYouMean(name, m.variables()))).
			WithHint("list variables with: nm %s", path)
	}
	bias, err := r.bias(s, m, path)
	if err != nil {
		return 0, s.fail(s.Name, shown, err).WithHint("see the mappings with: cat /proc/%d/maps", s.PID)
	}
	return addr + bias + off, nil
}

// variables lists the symbols of data.
func (m *image) variables() []string {
	syms, _ := m.Symbols()
	dynamic, _ := m.DynamicSymbols()
	var names []string
	for _, s := range append(syms, dynamic...) {
		if elf.ST_TYPE(s.Info) == elf.STT_OBJECT && s.Section != elf.SHN_UNDEF {
			names = append(names, s.Name)
		}
	}
	return names
}

// schema describes the samples. They have no raw record.
func (w *watch) schema() *event.Schema {
	b := &builder{s: &event.Schema{Name: "breakpoint", Type: unix.PERF_TYPE_BREAKPOINT}}
	b.add(event.Field{Name: "addr", Type: "u64", Member: event.MemberAddr, Unit: event.AddressU, Size: 8})
	b.add(event.Field{Name: "ip", Type: "u64", Member: event.MemberIP, Unit: event.AddressU, Size: 8})
	uses := append([]event.Member{event.MemberIP, event.MemberTime}, inThread...)
	m := hostMachine()
	names := registerNames(m)
	for _, n := range names {
		uses = append(uses, event.MemberReg+event.Member(n.num))
	}
	if w.typ != hwX {
		var o *event.Operand
		if m == elf.EM_X86_64 { // x86 stops after the access, other machines before it
			o = &event.Operand{Value: int64(w.addr), Load: w.size, Size: w.size, Signed: true}
		}
		b.number(event.Field{
			Name:     "data",
			Type:     fmt.Sprintf("s%d", 8*w.size),
			Size:     w.size,
			Signed:   true,
			Computed: &event.Computed{Uses: uses, Operand: o},
		}, w.value)
	}
	for _, n := range names {
		b.add(event.Field{
			Name:   n.name,
			Type:   "unsigned long",
			Size:   8,
			Unit:   event.AddressU,
			Member: event.MemberReg + event.Member(n.num),
		})
	}
	name := w.name()
	b.text("watch", &event.Operand{Text: name}, func(*event.Event) (string, bool) { return name, true })
	b.text("regs", nil, func(e *event.Event) (string, bool) {
		t := string(AppendRegisters(nil, e))
		return t, t != ""
	})
	b.s.Fields[len(b.s.Fields)-1].Computed = &event.Computed{Uses: uses}
	b.s.Text = w.line
	return b.schema()
}

func (w *watch) name() string {
	if w.label != "" {
		return w.label
	}
	return fmt.Sprintf("0x%x/%d:%s", w.addr, w.size, w.accessName())
}

// accessName returns the type of access in perf-prof's notation.
func (w *watch) accessName() string {
	if w.typ == hwX {
		return "X"
	}
	text := ""
	if w.typ&hwR != 0 {
		text = "R"
	}
	if w.typ&hwW != 0 {
		text += "W"
	}
	return text
}

// line appends "0xADDR/LEN:TYPE ip SYMBOL+OFF data=N".
func (w *watch) line(dst []byte, e *event.Event) []byte {
	dst = fmt.Appendf(dst, "0x%x/%d:%s ip %016x", w.addr, w.size, w.accessName(), w.ip(e))
	if ip := w.ip(e); w.place != nil {
		dst = w.place(append(dst, ' '), e, ip)
	} else if ip >= kernelHalf && w.kernel != nil {
		dst = append(append(dst, ' '), w.kernel.Text(ip)...)
	}
	if w.typ != hwX {
		if v, ok := w.value(e); ok {
			shift := uint(64 - 8*w.size)
			dst = appendNumber(append(dst, " data="...), int64(v<<shift)>>shift)
		}
	}
	return dst
}

func (w *watch) ip(e *event.Event) uint64 {
	if e.Stream == nil || e.Stream.Members == nil {
		return 0
	}
	v, _ := e.Stream.Members.Member(e, event.MemberIP)
	return v
}
