package probe

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"ppscript/runtime/text/diag"
)

// userProbe resolves uprobes and uretprobes.
func (r *Resolver) userProbe(s Spec) ([]*Probe, error) {
	typ, err := r.uprobePMU(s)
	if err != nil {
		return nil, err
	}
	m, path, shown, err := r.open(&s)
	if err != nil {
		return nil, err
	}
	places, note, err := r.places(&s, m, path, shown)
	if err != nil {
		return nil, err
	}
	goReturns := s.Kind == Uretprobe && m.Go()
	var probes []*Probe
	var refused []string
	for _, p := range places {
		if goReturns && p.fn.compiledByGo() {
			more, err := s.goReturn(m, path, typ, p)
			if err != nil {
				return nil, err
			}
			probes = append(probes, more...)
			continue
		}
		off, err := m.codeOffset(s.entry(m, p))
		if err != nil {
			return nil, s.fail(p.name, shown, err).WithHint("see the segments with: readelf -lW %s", path)
		}
		if err := m.refused(typ, s.entry(m, p), off); err != nil {
			refused = append(refused, cmp.Or(p.fn.name, p.name))
			if len(refused) == len(places) {
				return nil, s.fail(p.name, shown, err).WithHint("%s", s.behind(m, p))
			}
			continue
		}
		b := newBuilder(s.Kind.String(), p.name, typ, config(s.Kind), s.Kind.returns())
		if !p.line {
			c := conventionOf(m.Machine, m.Go() && p.fn.compiledByGo())
			if len(places) <= fewPlaces {
				s.signed(b, c, m, p)
			}
			if err := s.arguments(b, c); err != nil {
				return nil, err
			}
		}
		probes = append(probes, &Probe{Schema: b.schema(), Config1Text: path, Config2: off})
	}
	if len(refused) > 0 {
		if note != "" {
			note += "; "
		}
		note += fmt.Sprintf("left out, since the kernel refuses probes of the instruction there: %s",
			strings.Join(refused, ", "))
	}
	if note != "" && len(probes) > 0 && probes[0].Note == "" {
		probes[0].Note = fmt.Sprintf("%s %s in %s: %s", s.Kind, s.Name, shown, note)
	}
	return probes, nil
}

// fewPlaces bounds the number of probed functions for which arguments are read from debug
// information. A user who probes more functions usually wants to know which are called, not their
// arguments.
const fewPlaces = 20

func (r *Resolver) uprobePMU(s Spec) (uint32, error) {
	typ, err := r.pmu("uprobe")
	if errors.Is(err, os.ErrNotExist) {
		return 0, &diag.Error{Op: "open " + s.Kind.String(), Subject: s.Name, Class: diag.Attach,
			Cause: &diag.Unsupported{
				Feature: "probes in programs", Instead: "perf's uprobe PMU needs 4.17 and CONFIG_UPROBES",
			},
			Hint: "see what this kernel offers with: ppscript doctor"}
	}
	return typ, err
}

func (s *Spec) fail(name, file string, cause error) *diag.Error {
	return &diag.Error{
		Op: "open " + s.Kind.String(), Subject: name + " in " + file, Class: diag.Attach, Cause: cause,
	}
}

// A place is an address to probe.
type place struct {
	name string
	addr uint64
	fn   function // zero if the address is in no function
	line bool     // the place is a source line: the registers do not have the arguments there
}

// places finds the addresses that a Spec names in the file at path; messages use shown. The note is
// for the user if the addresses are not simply the function with the name.
func (r *Resolver) places(s *Spec, m *image, path, shown string) (list []place, note string, err error) {
	if off, ok := parseAddress(trimPlus(s.Name)); ok {
		list, err = s.numericPlace(m, path, shown, off)
		return list, "", err
	}
	if fns := m.find(s.Name); len(fns) > 0 {
		return s.begins(m, path, shown, fns, false)
	}
	if _, _, ok := cutLine(s.Name); ok {
		list, err = s.lines(m, path, shown)
		return list, "", err
	}
	name, off, err := splitOffset(s.Name)
	if err != nil {
		return nil, "", err
	}
	fns := m.find(name)
	if len(fns) == 0 && off == 0 && isPattern(name) {
		return s.begins(m, path, shown, m.match(name), true)
	}
	if len(fns) == 0 {
		e := s.fail(s.Name, shown, fmt.Errorf("no such function%s", diag.DidYouMean(name, m.names())))
		if len(m.functions()) == 0 {
			e.Cause = errors.New("the file has no symbols: it is stripped")
			return nil, "", e.WithHint("install its debug symbols, or give an address: %s(%q, \"0x...\")",
				s.Kind, s.File)
		}
		return nil, "", e.WithHint("list functions with: nm -DC %s; nm -C %s", path, path)
	}
	for _, fn := range fns {
		if fn.indirect && off > 0 {
			return nil, "", s.fail(s.Name, shown, errors.New("an indirect function has its code elsewhere")).
				WithHint("uprobe(%q, %q) names its implementations; give one of them, with the offset",
					s.File, name)
		}
		if err := s.checkInside(m, shown, fn, off); err != nil {
			return nil, "", err
		}
		list = append(list, place{name: s.Name, addr: fn.addr + off, fn: fn})
	}
	return list, "", s.checkMatches(len(list))
}

// begins returns the places at which calls of functions begin; fns are the functions with the
// name, or that match the pattern.
func (s *Spec) begins(m *image, path, shown string, fns []function, pattern bool) (
	list []place, note string, err error,
) {
	code, note, err := m.called(fns)
	if err != nil {
		return nil, "", s.fail(s.Name, shown, err).
			WithHint("name an implementation; those may be: nm %s | grep -i %s", path, s.Name)
	}
	for _, fn := range code {
		p := place{name: s.Name, addr: fn.addr, fn: fn}
		if pattern {
			p.name = cmp.Or(fn.chosen, fn.name)
		}
		list = append(list, p)
	}
	if made := m.compiledParts(s.Name, fns); len(made) > 0 && !pattern {
		note = "the compiler made other functions of it, which are probed: " + strings.Join(made, ", ")
	}
	return list, note, s.checkMatches(len(list))
}

func trimPlus(name string) string {
	if name != "" && name[0] == '+' {
		return name[1:]
	}
	return name
}

// numericPlace returns the place for an address in the form of nm, or, with +,
// for an offset in the file.
func (s *Spec) numericPlace(m *image, path, shown string, addr uint64) ([]place, error) {
	if s.Name[0] == '+' {
		a, err := m.address(addr)
		if err != nil {
			return nil, s.fail(s.Name, shown, err).WithHint("see the segments with: readelf -lW %s", path)
		}
		addr = a
	}
	fn, ok := m.at(addr)
	if !ok {
		return []place{{name: s.Name, addr: addr}}, nil
	}
	name := fn.name
	if off := addr - fn.addr; off > 0 {
		name = fmt.Sprintf("%s+0x%x", fn.name, off)
		if err := s.checkInside(m, shown, fn, off); err != nil {
			return nil, err
		}
	}
	return []place{{name: name, addr: addr, fn: fn}}, nil
}

// checkInside refuses offsets outside of a function or inside of an
// instruction: a trap written there would corrupt the program.
func (s *Spec) checkInside(m *image, shown string, fn function, off uint64) error {
	if off == 0 || fn.size == 0 {
		return nil
	}
	name := fmt.Sprintf("%s+0x%x", fn.name, off)
	if s.Kind == Uretprobe {
		return s.fail(name, shown, errors.New("a function returns from its start, not from an offset")).
			WithHint("leave out the offset")
	}
	if off >= fn.size {
		return s.fail(name, shown, fmt.Errorf("the function has only 0x%x bytes", fn.size)).
			WithHint("use a smaller offset")
	}
	code, err := m.code(fn)
	if err != nil {
		return s.fail(name, shown, err).WithHint("probe the start of the function")
	}
	before, ok, err := isBoundary(m.Machine, code, off)
	if err != nil || ok {
		return nil
	}
	return s.fail(name, shown, errors.New("not the start of an instruction")).
		WithHint("use +0x%x, where one starts", before)
}

// compiledByGo reports that a function was compiled by Go, not included by cgo:
// its name has a package.
func (f function) compiledByGo() bool {
	for i := 0; i < len(f.name); i++ {
		if f.name[i] == '.' && i > 0 {
			return true
		}
	}
	return f.name == ""
}

// goReturn probes the return instructions of a Go function.
func (s *Spec) goReturn(m *image, path string, typ uint32, p place) ([]*Probe, error) {
	const why = "the kernel's return probes kill Go programs, whose stacks move"
	code, err := m.code(p.fn)
	var offs []uint64
	if err == nil {
		offs, err = returnOffsets(m.Machine, code)
	}
	if err == nil && len(offs) == 0 {
		err = errors.New(
			"it has no return instruction: it never returns, or ends in a jump to another function")
	}
	if err != nil {
		return nil, s.fail(p.name, path,
			fmt.Errorf("%s, and the return instructions cannot be probed instead: %w", why, err)).
			WithHint("probe the entry: uprobe(%q, %q)", s.File, p.name)
	}
	var probes []*Probe
	for i, off := range offs {
		at, err := m.codeOffset(p.addr + off)
		if err != nil {
			return nil, s.fail(p.name, path, err).WithHint("see the segments with: readelf -lW %s", path)
		}
		// These probes are not return probes, so their records have no return
		// address.
		b := newBuilder(s.Kind.String(), p.name, typ, 0, false)
		s.signed(b, conventionOf(m.Machine, true), m, p)
		if err := s.arguments(b, conventionOf(m.Machine, true)); err != nil {
			return nil, err
		}
		pr := &Probe{Schema: b.schema(), Config1Text: path, Config2: at}
		if i == 0 {
			pr.Note = fmt.Sprintf("uretprobe %s: %s; its %d return instructions are probed instead",
				p.name, why, len(offs))
		}
		probes = append(probes, pr)
	}
	return probes, nil
}
