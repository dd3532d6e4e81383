package probe

import (
	"debug/elf"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"ppscript/runtime/event"
)

// This file decodes the arguments of USDT notes: SIZE@OPERAND, where OPERAND
// is what the compiler would write in assembly:
//
//	amd64  $5  %eax  8(%rbp)  (%rax,%rsi,8)  counter+4(%rip)
//	arm64  5   w0    [sp, 8]  [x0, x1, lsl 3]
//
// Size is in bytes, negative if signed, with an f for floating point, which is
// not decoded: those registers are not sampled.

// An Operand is where one argument is.
type Operand struct {
	Text   string // as the note has it, with its size
	Size   int    // bytes: 1, 2, 4, 8
	Signed bool
	Err    error // why it cannot be decoded; nil if it can

	kind        operandKind
	value       int64 // constant, displacement, or address of a variable
	reg, index  uint8
	shift       uint8 // of a part of a register: 8 for %ah
	width       uint8 // bytes of that part
	scale       uint8 // bits that the index is shifted by
	based, indx bool
}

type operandKind uint8

const (
	constant operandKind = iota
	inRegister
	inMemory
	inVariable // at a fixed distance from the instruction
)

var sized = regexp.MustCompile(`(?:^|\s)(-?[0-9]+)(f?)@`)

// parseOperands splits and decodes the arguments of a note. It never fails as
// a whole: what is not understood has an Err.
func parseOperands(args string, m elf.Machine, symbol func(string) (uint64, bool)) []Operand {
	if strings.TrimSpace(args) == "" {
		return nil
	}
	marks := sized.FindAllStringSubmatchIndex(args, -1)
	var list []Operand
	if len(marks) == 0 { // old notes have no sizes
		for _, text := range strings.Fields(args) {
			list = append(list, parseOperand(text, "8", "", text, m, symbol))
		}
		return list
	}
	for i, mark := range marks {
		end := len(args)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		text := strings.TrimSpace(args[mark[0]:end])
		list = append(list, parseOperand(text, args[mark[2]:mark[3]], args[mark[4]:mark[5]], strings.TrimSpace(args[mark[1]:end]), m, symbol))
	}
	return list
}

func parseOperand(text, size, float, body string, m elf.Machine, symbol func(string) (uint64, bool)) Operand {
	o := Operand{Text: text}
	n, err := strconv.Atoi(size)
	if n < 0 {
		n, o.Signed = -n, true
	}
	o.Size = n
	switch {
	case err != nil || n != 1 && n != 2 && n != 4 && n != 8:
		o.Err = fmt.Errorf("size: got %s, want 1, 2, 4 or 8", size)
	case float != "":
		o.Err = fmt.Errorf("floating point registers are not sampled")
	case m == elf.EM_X86_64:
		o.Err = o.amd64(body, symbol)
	case m == elf.EM_AARCH64:
		o.Err = o.arm64(body)
	default:
		o.Err = fmt.Errorf("operands of %s are not known", m)
	}
	return o
}

// amd64Memory is SYMBOL+DISP(%base,%index,scale), parts of it optional.
var amd64Memory = regexp.MustCompile(`^([A-Za-z_.$][\w.$@]*)?([-+]?[0-9a-fA-Fx]*(?:[-+][0-9]+)*)\(\s*(%\w+)?\s*(?:,\s*(%\w+)\s*(?:,\s*([1248]))?)?\s*\)$`)

func (o *Operand) amd64(body string, symbol func(string) (uint64, bool)) error {
	if text, ok := strings.CutPrefix(body, "$"); ok {
		return o.constant(text)
	}
	if strings.HasPrefix(body, "%") && !strings.ContainsAny(body, "(:") {
		r, ok := amd64Register(body[1:])
		if !ok {
			return fmt.Errorf("register %s is not sampled", body)
		}
		o.kind, o.reg, o.shift, o.width = inRegister, r.num, r.shift, r.width
		return nil
	}
	p := amd64Memory.FindStringSubmatch(body)
	if p == nil {
		return fmt.Errorf("operand %s is not understood", body)
	}
	disp, err := sum(p[2])
	if err != nil {
		return err
	}
	o.kind, o.value = inMemory, disp
	if p[3] == "%rip" {
		at, ok := symbol(p[1])
		if p[1] == "" || !ok {
			return fmt.Errorf("variable %s is not in the symbols of the file", p[1])
		}
		o.kind, o.value, o.reg = inVariable, int64(at)+disp, amd64IP
		return nil
	}
	if p[1] != "" {
		return fmt.Errorf("operand %s is not understood", body)
	}
	if p[3] != "" {
		r, ok := amd64Register(p[3][1:])
		if !ok || r.width != 8 {
			return fmt.Errorf("register %s is not sampled", p[3])
		}
		o.reg, o.based = r.num, true
	}
	if p[4] != "" {
		r, ok := amd64Register(p[4][1:])
		if !ok || r.width != 8 {
			return fmt.Errorf("register %s is not sampled", p[4])
		}
		o.index, o.indx = r.num, true
		o.scale = map[string]uint8{"": 0, "1": 0, "2": 1, "4": 2, "8": 3}[p[5]]
	}
	return nil
}

func (o *Operand) constant(text string) error {
	v, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		u, unsignedErr := strconv.ParseUint(text, 0, 64)
		if unsignedErr != nil {
			return fmt.Errorf("constant %s is not a number of 64 bits", text)
		}
		v = int64(u)
	}
	o.kind, o.value = constant, v
	return nil
}

// sum reads "-8", "+16-4" or nothing.
func sum(text string) (int64, error) {
	var total int64
	for text != "" {
		end := strings.IndexAny(text[1:], "+-")
		if end < 0 {
			end = len(text)
		} else {
			end++
		}
		v, err := strconv.ParseInt(strings.TrimPrefix(text[:end], "+"), 0, 64)
		if err != nil {
			return 0, fmt.Errorf("displacement %s is not a number", text)
		}
		total += v
		text = text[end:]
	}
	return total, nil
}

// A part is a register, or some of its bytes.
type part struct{ num, shift, width uint8 }

// amd64Names are the registers by their kernel numbers.
var amd64Names = [...]string{"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip"}

// amd64Register knows rax eax ax al ah, rsi esi si sil, r8 r8d r8w r8b.
func amd64Register(name string) (part, bool) {
	if n, ok := strings.CutPrefix(name, "r"); ok && n != "" && n[0] >= '0' && n[0] <= '9' {
		width := uint8(8)
		switch n[len(n)-1] {
		case 'd':
			width = 4
		case 'w':
			width = 2
		case 'b', 'l':
			width = 1
		}
		if width != 8 {
			n = n[:len(n)-1]
		}
		i, err := strconv.Atoi(n)
		return part{uint8(i + 8), 0, width}, err == nil && i >= 8 && i <= 15 && !strings.HasPrefix(n, "+") // 16..23 in the kernel's list
	}
	for i, r := range amd64Names {
		switch name {
		case "r" + r:
			return part{uint8(i), 0, 8}, true
		case "e" + r:
			return part{uint8(i), 0, 4}, true
		case r:
			return part{uint8(i), 0, 2}, true
		case r + "l", r[:1] + "l":
			if name == r+"l" != (i >= 4) { // al, but sil
				continue
			}
			return part{uint8(i), 0, 1}, true
		case r[:1] + "h":
			if i < 4 {
				return part{uint8(i), 8, 1}, true
			}
		}
	}
	return part{}, false
}

var arm64Memory = regexp.MustCompile(`^\[\s*(\w+)\s*(?:,\s*(?:#?(-?[0-9a-fA-Fx]+)|([xw]\w+)\s*(?:,\s*(lsl|sxtw|uxtw|sxtx)\s*(?:#?([0-4]))?)?))?\s*\]$`)

func (o *Operand) arm64(body string) error {
	if body != "" && (body[0] == '#' || body[0] == '-' || body[0] >= '0' && body[0] <= '9') {
		return o.constant(strings.TrimPrefix(body, "#"))
	}
	if !strings.HasPrefix(body, "[") {
		if body == "xzr" || body == "wzr" {
			o.kind = constant
			return nil
		}
		r, ok := arm64Register(body)
		if !ok {
			return fmt.Errorf("register %s is not sampled", body)
		}
		o.kind, o.reg, o.width = inRegister, r.num, r.width
		return nil
	}
	p := arm64Memory.FindStringSubmatch(body)
	if p == nil {
		return fmt.Errorf("operand %s is not understood", body)
	}
	r, ok := arm64Register(p[1])
	if !ok || r.width != 8 {
		return fmt.Errorf("register %s is not sampled", p[1])
	}
	o.kind, o.reg, o.based = inMemory, r.num, true
	if p[2] != "" {
		v, err := strconv.ParseInt(p[2], 0, 64)
		if err != nil {
			return fmt.Errorf("displacement %s is not a number", p[2])
		}
		o.value = v
	}
	if p[3] != "" {
		x, ok := arm64Register(p[3])
		if !ok || x.width != 8 || p[4] != "" && p[4] != "lsl" {
			return fmt.Errorf("operand %s is not understood", body)
		}
		o.index, o.indx = x.num, true
		if p[5] != "" {
			o.scale = p[5][0] - '0'
		}
	}
	return nil
}

func arm64Register(name string) (part, bool) {
	switch name {
	case "sp", "x31":
		return part{arm64SP, 0, 8}, true
	case "wsp":
		return part{arm64SP, 0, 4}, true
	case "lr":
		return part{30, 0, 8}, true
	case "fp":
		return part{arm64FP, 0, 8}, true
	}
	if len(name) < 2 || len(name) > 3 || name[0] != 'x' && name[0] != 'w' {
		return part{}, false
	}
	n, err := strconv.ParseUint(name[1:], 10, 8)
	if err != nil || n > 30 {
		return part{}, false
	}
	width := uint8(8)
	if name[0] == 'w' {
		width = 4
	}
	return part{uint8(n), 0, width}, true
}

// uses lists the facts that the operand is computed from.
func (o *Operand) uses(m elf.Machine) []event.Fact {
	reg := func(r uint8) event.Fact { return event.FactReg + event.Fact(r) }
	switch o.kind {
	case inRegister:
		return []event.Fact{reg(o.reg)}
	case inVariable:
		return append([]event.Fact{reg(o.reg)}, inThread...)
	case inMemory:
		facts := append([]event.Fact{}, inThread...)
		if o.based {
			facts = append(facts, reg(o.reg))
			if onStack(m, o.reg) {
				facts = append(facts, reg(stackPointer(m)), event.FactStack)
			}
		}
		if o.indx {
			facts = append(facts, reg(o.index))
		}
		return facts
	}
	return nil
}

func onStack(m elf.Machine, r uint8) bool {
	if m == elf.EM_AARCH64 {
		return r == arm64SP || r == arm64FP
	}
	return r == amd64SP || r == amd64BP
}

func stackPointer(m elf.Machine) uint8 {
	if m == elf.EM_AARCH64 {
		return arm64SP
	}
	return amd64SP
}

// reader makes the function that computes the operand; probe is the linked
// address of the probe.
func (o Operand) reader(m elf.Machine, probe uint64) func(e *event.Event) (uint64, bool) {
	reg := func(e *event.Event, r uint8) (uint64, bool) {
		return e.Stream.Members.Member(e, event.FactReg+event.Fact(r))
	}
	switch o.kind {
	case constant:
		return func(*event.Event) (uint64, bool) { return uint64(o.value), true }
	case inRegister:
		return func(e *event.Event) (uint64, bool) {
			v, ok := reg(e, o.reg)
			return o.extend(v >> o.shift), ok
		}
	case inVariable:
		return func(e *event.Event) (uint64, bool) {
			ip, ok := reg(e, o.reg)
			if !ok {
				return 0, false
			}
			// The program is loaded ip - probe above where it was linked.
			v, ok := loadUser(e, ip-probe+uint64(o.value), 0, o.Size)
			return o.extend(v), ok
		}
	}
	return func(e *event.Event) (uint64, bool) {
		addr, sp := uint64(o.value), uint64(0)
		if o.based {
			v, ok := reg(e, o.reg)
			if !ok {
				return 0, false
			}
			addr += v
			if onStack(m, o.reg) {
				sp, _ = reg(e, stackPointer(m))
			}
		}
		if o.indx {
			v, ok := reg(e, o.index)
			if !ok {
				return 0, false
			}
			addr += v << o.scale
		}
		v, ok := loadUser(e, addr, sp, o.Size)
		return o.extend(v), ok
	}
}

// extend cuts v to the operand's size, and to that of a part of a register.
func (o *Operand) extend(v uint64) uint64 {
	size := o.Size
	if o.kind == inRegister && int(o.width) < size {
		size = int(o.width)
	}
	shift := uint(64 - 8*size)
	if o.Signed {
		return uint64(int64(v<<shift) >> shift)
	}
	return v << shift >> shift
}

func (o *Operand) ctype() string {
	sign := "u"
	if o.Signed {
		sign = "s"
	}
	return fmt.Sprintf("%s%d", sign, 8*o.Size)
}
