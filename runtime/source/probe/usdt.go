package probe

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/glob"
)

func (s *Spec) notesOf(m *image, shown string) ([]Note, error) {
	all, err := m.notes()
	if err != nil {
		e := &diag.Error{Op: "read USDT probes of", Subject: shown, Class: diag.Attach, Cause: err}
		return nil, e.WithHint("see what the file has with: readelf -n %s", s.File)
	}
	if len(all) == 0 {
		return nil, &diag.Error{
			Op:      "read USDT probes of",
			Subject: shown,
			Class:   diag.Attach,
			Cause:   errNoNotes,
			Hint:    "name a file that has some",
		}
	}
	if s.Name == "" {
		return all, nil
	}
	var found []Note
	var names []string
	for i := range all {
		n := &all[i]
		names = append(names, n.fullName(), n.Name)
		if s.names(n) {
			found = append(found, *n)
		}
	}
	if len(found) == 0 {
		return nil, s.fail(s.Name, shown, fmt.Errorf("no such USDT probe%s", diag.DidYouMean(s.Name, names))).
			WithHint("list them with: ppscript usdt list %s", s.File)
	}
	return found, nil
}

func (s *Spec) names(n *Note) bool {
	provider, name, ok := strings.Cut(s.Name, ":")
	if !ok {
		return glob.Match(s.Name, n.Name)
	}
	return glob.Match(provider, n.Provider) && glob.Match(name, n.Name)
}

// usdt resolves USDT probes.
func (r *Resolver) usdt(s Spec) ([]*Probe, error) {
	typ, err := r.uprobePMU(s)
	if err != nil {
		return nil, err
	}
	m, path, shown, err := r.open(&s)
	if err != nil {
		return nil, err
	}
	notes, err := s.notesOf(m, shown)
	if err != nil {
		return nil, err
	}
	if err := s.checkMatches(len(notes)); err != nil {
		return nil, err
	}
	var probes []*Probe
	for i := range notes {
		n := &notes[i]
		cfg, err := r.semaphore(&s, n, shown)
		if err != nil {
			return nil, err
		}
		b := newBuilder(n.Provider, n.Name, typ, cfg, false)
		note, err := s.operands(b, n)
		if err != nil {
			return nil, err
		}
		probes = append(probes, &Probe{Schema: b.schema(), Config1Text: path, Config2: n.Offset, Note: note})
	}
	return probes, nil
}

// semShift is the position of the semaphore's file offset in attr.config, in
// bits.
const semShift = 32

// semaphore returns attr.config for a note with a semaphore: a counter in the
// program, which the kernel increments while the event is open. The program
// executes the probe only if it is not 0.
func (r *Resolver) semaphore(s *Spec, n *Note, shown string) (uint64, error) {
	if n.SemOffset == 0 {
		return 0, nil
	}
	if _, err := r.device("uprobe", "format/ref_ctr_offset"); errors.Is(err, os.ErrNotExist) {
		return 0, &diag.Error{
			Op:      "open usdt",
			Subject: n.fullName() + " in " + shown,
			Class:   diag.Attach,
			Cause: &diag.Unsupported{
				Feature: "USDT probes with a semaphore",
				Since:   "4.20",
				Instead: "probes without a semaphore work",
			},
			Hint: "probe a function instead: uprobe(...)",
		}
	}
	if n.SemOffset > 1<<semShift-1 {
		err := fmt.Errorf("semaphore at 0x%x is too far into the file", n.SemOffset)
		return 0, s.fail(n.fullName(), shown, err).WithHint("probe a function instead: uprobe(...)")
	}
	return n.SemOffset << semShift, nil
}

// operands adds the fields of a note's arguments: arg1, arg2, ..., and the
// declared arguments of the Spec.
func (s *Spec) operands(b *builder, n *Note) (note string, err error) {
	var decls []decl
	if s.Args != "" {
		parts := strings.Split(s.Args, ",")
		if len(parts) > len(n.Operands) {
			return "", diag.Errorf(diag.Usage, "usdt", n.fullName(),
				"args: got %d arguments, want at most %d: %s", len(parts), len(n.Operands), n.Args).
				WithHint("leave out the ones behind")
		}
		for _, p := range parts {
			d, err := parseDecl(p, true)
			if err != nil {
				return "", diag.Errorf(diag.Usage, "usdt", n.fullName(), "args: %w", err).
					WithHint(`declare arguments as in C: args = "int fd, char *path"`)
			}
			decls = append(decls, d)
		}
	}
	var skipped []string
	for i := range n.Operands {
		o := &n.Operands[i]
		if o.Err != nil {
			skipped = append(skipped, fmt.Sprintf("arg%d %s: %v", i+1, o.Text, o.Err))
			continue
		}
		read, uses, at := o.reader(n.machine, n.Addr), o.uses(n.machine), o.operand(n.Addr)
		if i < len(decls) {
			b.computed(decls[i], at, read, uses)
		}
		b.number(event.Field{
			Name:     fmt.Sprintf("arg%d", i+1),
			Type:     o.ctype(),
			Size:     o.Size,
			Signed:   o.Signed,
			Computed: &event.Computed{Uses: uses, Operand: at},
		}, read)
	}
	if len(skipped) > 0 {
		note = "usdt " + n.fullName() + ": left out " + strings.Join(skipped, "; ")
	}
	return note, nil
}
