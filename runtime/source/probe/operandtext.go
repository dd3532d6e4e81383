package probe

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// This file parses operands in the syntax of assembly, for amd64 and arm64.

// amd64Memory is SYMBOL+DISP(%base,%index,scale), parts of it optional.
var amd64Memory = regexp.MustCompile(`^([A-Za-z_.$][\w.$@]*)?([-+]?[0-9a-fA-Fx]*(?:[-+][0-9]+)*)` +
	`\(\s*(%\w+)?\s*(?:,\s*(%\w+)\s*(?:,\s*([1248]))?)?\s*\)$`)

func (o *operand) amd64(body string, symbol func(string) (uint64, bool)) error {
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

func (o *operand) constant(text string) error {
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

// sum parses "-8", "+16-4" or "".
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

// amd64Register parses rax eax ax al ah, rsi esi si sil, r8 r8d r8w r8b.
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
		// r8 to r15 are 16 to 23 in the kernel's list
		return part{uint8(i + 8), 0, width}, err == nil && i >= 8 && i <= 15 && !strings.HasPrefix(n, "+")
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

// arm64Memory is [base, #DISP] or [base, index, lsl #N], parts of it optional.
var arm64Memory = regexp.MustCompile(`^\[\s*(\w+)\s*(?:,\s*(?:#?(-?[0-9a-fA-Fx]+)|` +
	`([xw]\w+)\s*(?:,\s*(lsl|sxtw|uxtw|sxtx)\s*(?:#?([0-4]))?)?))?\s*\]$`)

func (o *operand) arm64(body string) error {
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
