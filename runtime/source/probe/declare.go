package probe

import (
	"errors"
	"fmt"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
)

// This file adds arguments with the names and types of a declaration in C:
//
//	int fd, const char *path, size_t n
//
// Numbers are cut to their size and sign. A pointer to char is shown as the
// text at that address, any other pointer as an address.

// scalar are the sizes of known C types in bytes, negative if signed.
var scalar = map[string]int{
	"char": -1, "signed char": -1, "unsigned char": 1, "bool": 1, "_Bool": 1,
	"short": -2, "unsigned short": 2, "int": -4, "unsigned": 4, "unsigned int": 4, "long": -8,
	"unsigned long": 8,
	"long int":      -8, "long long": -8, "unsigned long long": 8, "long unsigned int": 8,
	"size_t": 8, "ssize_t": -8, "off_t": -8, "loff_t": -8, "pid_t": -4, "uid_t": 4, "gid_t": 4,
	"mode_t": 4, "umode_t": 2,
	"s8": -1, "u8": 1, "s16": -2, "u16": 2, "s32": -4, "u32": 4, "s64": -8, "u64": 8,
	"int8_t": -1, "uint8_t": 1, "int16_t": -2, "uint16_t": 2, "int32_t": -4, "uint32_t": 4,
	"int64_t": -8, "uint64_t": 8,
	"uintptr_t": 8, "intptr_t": -8, "gfp_t": 4, "dev_t": 4,
}

// A decl is one declared value.
type decl struct {
	typ, name string
	size      int
	signed    bool
	text, ptr bool
	names     map[int64]string // names of an enumeration's values; nil for other types
}

func parseDecl(text string, named bool) (decl, error) {
	spaced := strings.ReplaceAll(text, "*", " * ")
	var words []string
	d := decl{}
	stars := 0
	for _, w := range strings.Fields(spaced) {
		switch w {
		case "*":
			stars++
		case "const", "volatile", "restrict", "__user", "struct", "enum", "union":
		default:
			words = append(words, w)
		}
	}
	if named {
		if len(words) < 2 || !isIdent(words[len(words)-1]) {
			return d, fmt.Errorf("got %q, want a type and a name, such as: int fd", strings.TrimSpace(text))
		}
		d.name = words[len(words)-1]
		words = words[:len(words)-1]
	}
	d.typ = strings.Join(words, " ")
	size, known := scalar[d.typ]
	switch {
	case stars == 1 && d.typ == "char":
		d.text = true
		d.typ, d.size = "char *", 8
		return d, nil
	case stars > 0:
		d.typ += " " + strings.Repeat("*", stars)
		d.size, d.ptr = 8, true
		return d, nil
	case strings.Contains(text, "enum ") && len(words) == 1:
		size, known = 4, true
	case !known:
		return d, fmt.Errorf("got type %q, want a number or a pointer%s", d.typ,
			diag.DidYouMean(d.typ, keys(scalar)))
	}
	d.size, d.signed = size, size < 0
	if size < 0 {
		d.size = -size
	}
	return d, nil
}

func isIdent(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func keys(m map[string]int) []string {
	var ks []string
	for k := range m {
		ks = append(ks, k)
	}
	return ks
}

// declare adds a field for each argument in s.Args.
func declare(b *builder, c *convention, s *Spec) error {
	parts := strings.Split(s.Args, ",")
	if c == nil || len(parts) > len(c.args) {
		n := 0
		if c != nil {
			n = len(c.args)
		}
		return diag.Errorf(diag.Usage, s.Kind.String(), s.Name,
			"args: got %d arguments, want at most %d, those in registers", len(parts), n).
			WithHint("leave out the ones behind")
	}
	for i, part := range parts {
		d, err := parseDecl(part, true)
		if err != nil {
			return diag.Errorf(diag.Usage, s.Kind.String(), s.Name, "args: %w", err).
				WithHint(`declare arguments as in C: args = "int fd, char *path"`)
		}
		b.declared(d, c.args[i])
	}
	return nil
}

func declareReturn(b *builder, c *convention, s *Spec) error {
	d, err := parseDecl(s.Ret, false)
	if c == nil && err == nil {
		err = errors.New("results of this machine's functions are not known")
	}
	if err != nil {
		return diag.Errorf(diag.Usage, s.Kind.String(), s.Name, "ret: %w", err).
			WithHint(`give the type of the result as in C: ret = "int"`)
	}
	d.name = "result"
	b.declared(d, c.rets[0])
	return nil
}

// declared adds a field whose value is a register, or the lower part of it.
func (b *builder) declared(d decl, reg uint8) {
	member := event.MemberReg + event.Member(reg)
	if d.size == 8 && !d.text {
		b.add(event.Field{
			Name:   d.name,
			Type:   d.typ,
			Size:   8,
			Signed: d.signed,
			Unit:   d.unit(),
			Member: member,
			Shown:  d.enumNames(),
		})
		return
	}
	at := &event.Operand{Regs: []event.ScaledReg{{Reg: reg}}}
	b.computed(d, at, func(e *event.Event) (uint64, bool) {
		return e.Stream.Members.Member(e, member)
	}, []event.Member{member})
}

// computed adds a field whose number, or address of its text, is computed by fn. o
// describes the same computation for programs of the kernel.
func (b *builder) computed(d decl, o *event.Operand, fn func(*event.Event) (uint64, bool),
	uses []event.Member) {
	if !d.text {
		b.number(event.Field{
			Name: d.name, Type: d.typ, Size: d.size, Signed: d.signed, Unit: d.unit(),
			Computed: &event.Computed{Uses: uses, Operand: o},
			Shown:    d.enumNames(),
		}, fn)
		return
	}
	b.text(d.name, o, func(e *event.Event) (string, bool) {
		p, ok := fn(e)
		if !ok {
			return "", false
		}
		return readText(e, p), true
	}, append(append([]event.Member{}, uses...), inThread...)...)
}

// enumNames returns the function that names the values of an enumeration; nil
// for other types.
func (d decl) enumNames() func(event.Value) (string, bool) {
	if len(d.names) == 0 {
		return nil
	}
	return func(v event.Value) (string, bool) {
		name, ok := d.names[v.Int()]
		return name, ok
	}
}

func (d decl) unit() event.Unit {
	if d.ptr {
		return event.AddressU
	}
	return event.NoUnit
}
