package probe

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"ppscript/runtime/system/privilege"
	"ppscript/runtime/text/diag"
)

// This file defines USDT probes as tracepoints, for use in other tools and in
// event strings: "usdt add" writes a definition to tracefs' uprobe_events, and
// the probe is then the tracepoint PROVIDER:NAME until "usdt del". Unlike the
// rest of the package, this leaves state in the kernel, on purpose.

// A Definition is one line of uprobe_events.
type Definition struct {
	Group, Event string
	Text         string   // "p:group/event /file:0x10(0x20) arg1=%di:s32"
	Skipped      []string // arguments that the kernel's notation cannot express
}

// ProfProbe is a probe in perf-prof's notation, parsed.
type ProfProbe struct {
	Spec    Spec
	Addr    uint64   // selects one of several probes of the name; 0 is all
	Formats []string // of its arguments
}

// ParseUSDT parses perf-prof's notation for usdt add, del and list, with one
// probe or several: [[PROVIDER:]NAME@]FILE[@ADDR], then the formats of its
// arguments.
func ParseUSDT(text string) ([]ProfProbe, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, diag.Errorf(diag.Usage, "usdt", `""`, "no file given").
			WithHint("write [[PROVIDER:]NAME@]FILE, as in libstdcxx:throw@/usr/lib/x86_64-linux-gnu/libstdc++.so.6")
	}
	var list []ProfProbe
	for _, word := range words {
		if n := len(list); n > 0 && isFormat(word) {
			list[n-1].Formats = append(list[n-1].Formats, word)
			continue
		}
		one, err := parseChosen(word)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// isFormat reports that a word is the format of an argument, not the next
// probe. Formats begin like the kernel's notation: [NAME=] and one of %REG
// @ADDR +OFFS(...) -OFFS(...) $stack \IMMEDIATE, or %s for the argument's own
// location.
func isFormat(word string) bool {
	if name, rest, ok := strings.Cut(word, "="); ok && name != "" && name == identifier(name) {
		word = rest
	}
	return word != "" && strings.IndexByte("%@+-$\\", word[0]) >= 0
}

// parseChosen reads the notation of one probe.
func parseChosen(word string) (c ProfProbe, err error) {
	s := &c.Spec
	s.Kind = USDT
	parts := strings.Split(word, "@")
	if n := len(parts); n > 1 {
		if a, ok := parseAddress(parts[n-1]); ok {
			c.Addr, parts = a, parts[:n-1]
		}
	}
	switch len(parts) {
	case 1:
		s.File = parts[0]
	case 2:
		s.Name, s.File = parts[0], parts[1]
	default:
		return c, diag.Errorf(diag.Usage, "usdt", word, "too many @").
			WithHint("write [[PROVIDER:]NAME@]FILE[@ADDR]")
	}
	if s.File == "" {
		return c, diag.Errorf(diag.Usage, "usdt", word, "the file is missing").
			WithHint("write [[PROVIDER:]NAME@]FILE[@ADDR]")
	}
	return c, nil
}

// definition makes the line of uprobe_events for the note. formats[i] is the
// format of argument i, with %s for the argument's location: "+0(%s):string".
func (n *Note) definition(path string, formats []string) Definition {
	d := Definition{Group: identifier(n.Provider), Event: identifier(n.Name)}
	var b strings.Builder
	fmt.Fprintf(&b, "p:%s/%s %s:0x%x", d.Group, d.Event, path, n.Offset)
	if n.SemOffset != 0 {
		fmt.Fprintf(&b, "(0x%x)", n.SemOffset)
	}
	for i := range n.Operands {
		o := &n.Operands[i]
		where, err := o.fetch(n.machine)
		if err != nil {
			d.Skipped = append(d.Skipped, fmt.Sprintf("arg%d %s: %v", i+1, o.Text, err))
			continue
		}
		b.WriteByte(' ')
		if i < len(formats) {
			if !strings.Contains(formats[i], "=") {
				fmt.Fprintf(&b, "arg%d=", i+1)
			}
			b.WriteString(strings.ReplaceAll(formats[i], "%s", where))
			continue
		}
		fmt.Fprintf(&b, "arg%d=%s:%s", i+1, where, o.ctype())
	}
	d.Text = b.String()
	return d
}

// identifier converts s to a name that tracefs accepts.
func identifier(s string) string {
	out := strings.Map(func(c rune) rune {
		if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, s)
	if out == "" || out[0] >= '0' && out[0] <= '9' {
		out = "_" + out
	}
	return out
}

// fetch returns the operand in the notation of uprobe_events.
func (o *operand) fetch(m elf.Machine) (string, error) {
	switch {
	case o.Err != nil:
		return "", o.Err
	case o.kind == constant:
		return fmt.Sprintf(`\%d`, o.value), nil
	case o.kind == inVariable:
		return "", errors.New("tracefs cannot address variables of programs that are loaded anywhere")
	case o.indx:
		return "", errors.New("tracefs supports no index registers")
	case o.shift != 0:
		return "", errors.New("tracefs supports no parts of registers")
	}
	reg := fetchRegister(m, o.reg)
	if o.kind == inRegister {
		return "%" + reg, nil
	}
	if !o.based {
		return "", errors.New("tracefs cannot address absolute memory")
	}
	return fmt.Sprintf("%+d(%%%s)", o.value, reg), nil
}

// fetchRegister returns a register's name in the kernel's regoffset_table.
func fetchRegister(m elf.Machine, r uint8) string {
	if m == elf.EM_AARCH64 {
		switch {
		case r == arm64SP:
			return "sp"
		case r == arm64PC:
			return "pc"
		}
		return fmt.Sprintf("x%d", r)
	}
	if r >= 16 {
		return fmt.Sprintf("r%d", r-8)
	}
	return amd64Names[r]
}

// Definitions finds the notes that s names, and makes their definitions. If
// addr is not 0, it finds only the note at addr. Notes with the same name get
// numbers: NAME, NAME_1, NAME_2.
func (r *Resolver) Definitions(s Spec, addr uint64, formats []string) ([]Note, []Definition, error) {
	s.Kind = USDT
	m, path, shown, err := r.open(&s)
	if err != nil {
		return nil, nil, err
	}
	all, err := s.notesOf(m, shown)
	if err != nil {
		return nil, nil, err
	}
	var notes []Note
	var defs []Definition
	seen := map[string]int{}
	for i := range all {
		n := &all[i]
		d := n.definition(path, formats)
		count := seen[d.Group+"/"+d.Event]
		seen[d.Group+"/"+d.Event]++
		if addr != 0 && n.Addr != addr {
			continue
		}
		if count > 0 {
			name := fmt.Sprintf("%s_%d", d.Event, count)
			d.Text = strings.Replace(d.Text, "/"+d.Event+" ", "/"+name+" ", 1)
			d.Event = name
		}
		notes, defs = append(notes, *n), append(defs, d)
	}
	most := 0
	for i := range notes {
		most = max(most, len(notes[i].Operands))
	}
	if len(defs) > 0 && len(formats) > most {
		return nil, nil, diag.Errorf(diag.Usage, "usdt", s.Name, "format %q: got %d formats of %d arguments",
			formats[most], len(formats), most).
			WithHint("see the arguments: ppscript usdt list -v %s", s.File)
	}
	if len(defs) == 0 {
		return nil, nil, s.fail(s.Name, shown, fmt.Errorf("no USDT probe at 0x%x", addr)).
			WithHint("list them with: ppscript usdt list -v %s", s.File)
	}
	return notes, defs, nil
}

// Add writes definitions to the tracefs at root. If the kernel refuses one, the
// definitions before it are deleted again.
func Add(root string, defs []Definition) error {
	for i, d := range defs {
		if err := define(root, d.Text); err != nil {
			for _, done := range defs[:i] {
				define(root, "-:"+done.Group+"/"+done.Event)
			}
			e := &diag.Error{Op: "add usdt", Subject: d.Group + ":" + d.Event, Class: diag.Attach, Cause: err}
			switch {
			case errors.Is(err, fs.ErrExist):
				return e.WithHint("delete the old one first: ppscript usdt del %s:%s@FILE", d.Group, d.Event)
			case errors.Is(err, fs.ErrPermission):
				return e.WithHint("run as root")
			}
			return e.WithHint("see the kernel's reason with: cat %s/error_log", root)
		}
	}
	return nil
}

// Delete removes definitions from the tracefs at root.
func Delete(root string, defs []Definition) error {
	var errs []error
	for _, d := range defs {
		if err := define(root, "-:"+d.Group+"/"+d.Event); err != nil {
			e := &diag.Error{
				Op:      "delete usdt",
				Subject: d.Group + ":" + d.Event,
				Class:   diag.Attach,
				Cause:   err,
			}
			if errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, e.WithHint("see what there is with: cat %s/uprobe_events", root))
				continue
			}
			errs = append(errs, e.WithHint("end what still uses it"))
		}
	}
	return errors.Join(errs...)
}

// define writes one line. The file is opened without truncation, which would
// delete the definitions of all users.
func define(root, line string) error {
	f, err := privilege.OpenFile(privilege.Kernel, root+"/uprobe_events", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return diag.Reason(err)
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(diag.Reason(err), f.Close())
}

// Line returns the line of usdt list for a note: "provider:name@file". With
// verbose it adds the note's content and the definition.
func (n *Note) Line(file string, d Definition, verbose bool) string {
	line := n.fullName() + "@" + file
	if !verbose {
		return line
	}
	return fmt.Sprintf("%s\n    address 0x%x base 0x%x semaphore 0x%x\n    arguments %s\n    %s", line,
		n.Addr, n.Base, n.Semaphore, n.Args, d.Text)
}
