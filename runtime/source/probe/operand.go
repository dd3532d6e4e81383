package probe

import (
	"debug/elf"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"ppscript/runtime/event"
)

// This file decodes the arguments of USDT notes: SIZE@OPERAND, where OPERAND is
// in the syntax of the compiler's assembly:
//
//	amd64  $5  %eax  8(%rbp)  (%rax,%rsi,8)  counter+4(%rip)
//	arm64  5   w0    [sp, 8]  [x0, x1, lsl 3]
//
// SIZE is in bytes, negative if signed, with an f for floating point.
// Floating-point arguments are not decoded, since their registers are not
// sampled.

// An operand is the location of one argument.
type operand struct {
	Text   string // as written in the note, with its size
	Size   int    // bytes: 1, 2, 4, 8
	Signed bool
	Err    error // the reason if it cannot be decoded, else nil

	kind        operandKind
	value       int64 // constant, displacement, or address of a variable
	reg, index  uint8
	shift       uint8 // first bit of a part of a register: 8 for %ah
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

// parseOperands splits and decodes the arguments of a note. An argument that
// cannot be decoded has an Err; the others are not affected.
func parseOperands(args string, m elf.Machine, symbol func(string) (uint64, bool)) []operand {
	if strings.TrimSpace(args) == "" {
		return nil
	}
	marks := sized.FindAllStringSubmatchIndex(args, -1)
	var list []operand
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
		list = append(list, parseOperand(text, args[mark[2]:mark[3]], args[mark[4]:mark[5]],
			strings.TrimSpace(args[mark[1]:end]), m, symbol))
	}
	return list
}

func parseOperand(text, size, float, body string, m elf.Machine, symbol func(string) (uint64, bool)) operand {
	o := operand{Text: text}
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

// uses lists the sample members from which the operand is computed.
func (o *operand) uses(m elf.Machine) []event.Member {
	reg := func(r uint8) event.Member { return event.MemberReg + event.Member(r) }
	switch o.kind {
	case inRegister:
		return []event.Member{reg(o.reg)}
	case inVariable:
		return append([]event.Member{reg(o.reg)}, inThread...)
	case inMemory:
		members := append([]event.Member{}, inThread...)
		if o.based {
			members = append(members, reg(o.reg))
			if onStack(m, o.reg) {
				members = append(members, reg(stackPointer(m)), event.MemberStack)
			}
		}
		if o.indx {
			members = append(members, reg(o.index))
		}
		return members
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

// reader returns the function that computes the operand; probe is the linked
// address of the probe.
func (o operand) reader(m elf.Machine, probe uint64) func(e *event.Event) (uint64, bool) {
	reg := func(e *event.Event, r uint8) (uint64, bool) {
		return e.Stream.Members.Member(e, event.MemberReg+event.Member(r))
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

// operand describes, for programs of the kernel, how the value is computed.
// probe is the linked address of the probe.
func (o *operand) operand(probe uint64) *event.Operand {
	p := &event.Operand{Value: o.value, Size: o.Size, Signed: o.Signed}
	switch o.kind {
	case inRegister:
		p.Value, p.Shift, p.Regs = 0, o.shift, []event.ScaledReg{{Reg: o.reg}}
		p.Size = min(o.Size, int(o.width))
	case inVariable:
		p.Value, p.Load, p.Regs = o.value-int64(probe), o.Size, []event.ScaledReg{{Reg: o.reg}}
	case inMemory:
		p.Load = o.Size
		if o.based {
			p.Regs = append(p.Regs, event.ScaledReg{Reg: o.reg})
		}
		if o.indx {
			p.Regs = append(p.Regs, event.ScaledReg{Reg: o.index, Scale: o.scale})
		}
	}
	return p
}

// extend cuts v to the operand's size, or to the size of a part of a register,
// and extends its sign.
func (o *operand) extend(v uint64) uint64 {
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

func (o *operand) ctype() string {
	sign := "u"
	if o.Signed {
		sign = "s"
	}
	return fmt.Sprintf("%s%d", sign, 8*o.Size)
}
