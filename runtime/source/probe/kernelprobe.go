package probe

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/glob"
)

// kernelProbe resolves kprobes and kretprobes. The kernel finds the function
// by its name when the event is opened; names are looked up here for patterns
// and for suggestions.
func (r *Resolver) kernelProbe(s Spec) ([]*Probe, error) {
	typ, err := r.pmu("kprobe")
	if errors.Is(err, os.ErrNotExist) {
		return nil, &diag.Error{Op: "open " + s.Kind.String(), Subject: s.Name, Class: diag.Attach,
			Cause: &diag.Unsupported{
				Feature: "probes in kernel functions",
				Instead: "the kernel was built without CONFIG_KPROBES (perf's kprobe PMU needs 4.17)",
			},
			Hint: "use a tracepoint, uprobe or USDT probe; see what there is with: ppscript list"}
	}
	if err != nil {
		return nil, err
	}
	if addr, ok := parseAddress(s.Name); ok {
		return r.kernelAddress(s, typ, addr)
	}
	fn, off, err := splitOffset(s.Name)
	if err != nil {
		return nil, err
	}
	if off != 0 && s.Kind == Kretprobe {
		return nil, diag.Errorf(diag.Usage, "open kretprobe", s.Name,
			"a function returns from its start, not from an offset").
			WithHint("leave out the offset: kretprobe(%q)", fn)
	}
	names := []string{fn}
	switch known, listErr := r.kernelFunctions(); {
	case listErr != nil && isPattern(fn):
		return nil, listErr
	case listErr != nil: // the kernel checks the name itself
	case isPattern(fn):
		if names, err = s.matches(fn, r.traceable(known)); err != nil {
			return nil, err
		}
	case !slices.Contains(known, fn):
		return nil, diag.Errorf(diag.Attach, "open "+s.Kind.String(), s.Name,
			"no such function in the kernel%s", diag.DidYouMean(fn, known)).
			WithHint("look for it with: grep -w %s /proc/kallsyms", fn)
	}
	var probes []*Probe
	for _, name := range names {
		shown := name
		if off != 0 {
			shown = fmt.Sprintf("%s+0x%x", name, off)
		}
		b := newBuilder(s.Kind.String(), shown, typ, config(s.Kind), s.Kind.returns())
		c := kernelConvention(off)
		if off == 0 {
			r.typed(b, c, &s, name)
		}
		if err := s.arguments(b, c); err != nil {
			return nil, err
		}
		probes = append(probes, &Probe{Schema: b.schema(), Config1Text: name, Config2: off})
	}
	return probes, nil
}

func (r *Resolver) kernelAddress(s Spec, typ uint32, addr uint64) ([]*Probe, error) {
	if addr < 1<<63 {
		return nil, diag.Errorf(diag.Usage, "open "+s.Kind.String(), s.Name, "not an address of the kernel").
			WithHint("use an address from /proc/kallsyms, or uprobe(...) for programs")
	}
	name := s.Name
	if r.Kernel != nil {
		name = r.Kernel.Text(addr)
	}
	b := newBuilder(s.Kind.String(), name, typ, config(s.Kind), s.Kind.returns())
	if err := s.arguments(b, conventionOf(hostMachine(), false)); err != nil {
		return nil, err
	}
	return []*Probe{{Schema: b.schema(), Config2: addr}}, nil
}

// kernelConvention returns the calling convention for a probe at an offset in a
// function. Inside of the function the registers may already have other values,
// but the fields have the same names.
func kernelConvention(uint64) *convention { return conventionOf(hostMachine(), false) }

// kernelFunctions lists the functions of the kernel and its modules. Functions
// of modules are also listed with the module, as in kprobe("kvm:vmx_vcpu_run").
func (r *Resolver) kernelFunctions() ([]string, error) {
	if r.text != nil {
		return r.text, nil
	}
	f, err := os.Open(r.proc() + "/kallsyms")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for in := bufio.NewScanner(f); in.Scan(); {
		parts := strings.Fields(in.Text())
		if len(parts) < 3 || !strings.ContainsAny(parts[1], "tTwW") {
			continue
		}
		names = append(names, parts[2])
		if len(parts) > 3 {
			names = append(names, strings.Trim(parts[3], "[]")+":"+parts[2])
		}
	}
	if len(names) == 0 {
		return nil, errors.New("/proc/kallsyms lists no functions")
	}
	r.text = names
	return names, nil
}

// traceable returns the functions of a list that the kernel's tracers can use. It leaves
// out separate parts of functions, and functions that were only needed during boot. If the
// kernel's list cannot be read, it returns all of them.
func (r *Resolver) traceable(known []string) []string {
	text, err := os.ReadFile(traceableFunctions)
	if err != nil || r.Proc != "" {
		return known
	}
	can := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 {
			can[words[0]] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(known), func(name string) bool {
		_, in, ok := strings.Cut(name, ":")
		if !ok {
			in = name
		}
		return !can[in]
	})
}

// traceableFunctions is the kernel's list of functions that can be traced.
const traceableFunctions = "/sys/kernel/tracing/available_filter_functions"

// matches returns the known functions that match a pattern; an error if they
// exceed the limit of s.
func (s *Spec) matches(pattern string, known []string) ([]string, error) {
	var names []string
	for _, n := range known {
		if glob.Match(pattern, n) && strings.Contains(n, ":") == strings.Contains(pattern, ":") {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names, s.checkMatches(len(names))
}

func (s *Spec) checkMatches(n int) error {
	switch {
	case n == 0:
		return diag.Errorf(diag.Attach, "open "+s.Kind.String(), s.Name, "no function matches").
			WithHint("patterns are of * ? [a-z]")
	case n > s.limit():
		return diag.Errorf(diag.Usage, "open "+s.Kind.String(), s.Name,
			"%d functions match, want at most %d", n, s.limit()).
			WithHint("narrow the pattern, or allow them: limit = %d", n)
	}
	return nil
}
