package probe

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/glob"
)

// This file answers the questions before a probe, as perf probe does: which functions there are, in which
// source lines a probe can be, and which variables there are.

// Functions lists the functions of a file, or of the kernel if file is "", that match a pattern: the names
// that a probe takes.
func (r *Resolver) Functions(file, pattern string) ([]string, error) {
	var names []string
	add := func(name string) {
		if glob.Match(pattern, name) {
			names = append(names, name)
		}
	}
	if file == "" {
		known, err := r.kernelFunctions()
		if err != nil {
			return nil, diag.Errorf(diag.Attach, "functions of", "the kernel", "%w", err).
				WithHint("run as root: the kernel shows its symbols to root alone")
		}
		for _, name := range r.traceable(known) {
			if !strings.Contains(name, ":") || strings.Contains(pattern, ":") { // twice, with their module
				add(name)
			}
		}
	} else {
		s := Spec{Kind: Uprobe, File: file}
		m, _, shown, err := r.open(&s)
		if err != nil {
			return nil, err
		}
		if len(m.functions()) == 0 {
			return nil, stripped("functions of", shown)
		}
		for _, fn := range m.functions() {
			if _, called := m.cutClone(fn.name); called && !fn.label && !strings.HasSuffix(fn.name, "@plt") {
				add(symbol.Demangle(fn.name))
			}
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 && pattern == "*" && file != "" {
		return nil, stripped("functions of", file)
	} else if len(names) == 0 {
		return nil, diag.Errorf(diag.Attach, "functions", pattern, "no function matches").
			WithHint("patterns are of * ? [a-z]: ppscript probe -F '*%s*'", strings.Trim(pattern, "*"))
	}
	return names, nil
}

func stripped(question, file string) error {
	return diag.Errorf(diag.Attach, question, file,
		"the file has no symbols of its functions: it is stripped").
		WithHint("install its debug symbols, of Debian in the package NAME-dbgsym")
}

// A Source is a part of a source file, with the lines where a probe can be.
type Source struct {
	symbol.Listing
	Name string // of the function, or of the source file as the user wrote it
	Zero int    // the line from which lines count: a function's first, 0 of a file
}

// Source finds source lines by the user's text, the parameter what. FUNC, FUNC:3-7 and FUNC:3+5 count
// from the first line of the function, FILE.c:10, FILE.c:10-20 and FILE.c:10+5 from the first line of
// the file.
func (r *Resolver) Source(file, what string) (*Source, error) {
	if file == "" {
		return nil, noKernelLines(what)
	}
	s := Spec{Kind: Uprobe, File: file, Name: what}
	m, path, shown, err := r.open(&s)
	if err != nil {
		return nil, err
	}
	name, from, to, ranged, err := cutRange(what)
	if err != nil {
		return nil, err
	}
	fns := m.find(name)
	if len(fns) == 0 && !ranged {
		if len(m.functions()) == 0 {
			return nil, stripped("lines of", shown)
		}
		return nil, s.fail(what, shown,
			fmt.Errorf("no such function%s", diag.DidYouMean(name, m.names()))).
			WithHint("list functions with: ppscript probe -x %s -F", file)
	}
	if len(fns) > 0 {
		list, err := symbol.FunctionLines(path, fns[0].addr, fns[0].addr+max(fns[0].size, 1))
		if err != nil {
			return nil, s.noLines(what, shown, path, err)
		}
		src := &Source{Listing: *list, Name: name, Zero: list.First}
		m.signature(fns[0].addr) // reads the debug information
		if line := m.signatures.Declared(fns[0].addr); line > 0 && line < src.Zero {
			src.Zero, src.First = line, line
			src.Code = slices.Insert(src.Code, 0, line) // the function's begin
			src.Code = slices.DeleteFunc(src.Code, func(n int) bool { return n == list.First })
		}
		if ranged {
			src.First, src.Last = src.Zero+from, src.Zero+to
		}
		return src, nil
	}
	list, err := symbol.FileLines(path, name, from, to)
	if err != nil {
		return nil, s.noLines(what, shown, path, err)
	}
	return &Source{Listing: *list, Name: name}, nil
}

func (s *Spec) noLines(what, shown, path string, err error) error {
	var none *symbol.NoCode
	if errors.As(err, &none) {
		return s.fail(what, shown,
			errors.New("no code begins in these lines, or there is no such source file")).
			WithHint("the sources that it was compiled from: readelf --debug-dump=decodedline %s", path)
	}
	return s.fail(what, shown, err).
		WithHint("compile with -g, or install its debug symbols; functions need none: ppscript probe -x %s -F",
			path)
}

// noKernelLines returns the error for source lines of the kernel. Its hint says how to get them.
func noKernelLines(what string) error {
	return diag.Errorf(diag.Usage, "lines of", what, "the running kernel does not tell its source lines").
		WithHint("give its debug file: ppscript probe -x /usr/lib/debug/boot/vmlinux-$(uname -r) -L %s; "+
			"arguments of functions need none: ppscript probe -V %[1]s", what)
}

// cutRange cuts the lines off a name: a:3, a:3-7, a:3+4.
func cutRange(text string) (name string, from, to int, ranged bool, err error) {
	i := strings.LastIndexByte(text, ':')
	if i < 1 || text[i-1] == ':' {
		return text, 0, 0, false, nil // a function of C++ or Rust
	}
	first, rest := text[i+1:], ""
	j := strings.IndexAny(first, "-+")
	if j >= 0 {
		first, rest = first[:j], first[j:]
	}
	from, err = strconv.Atoi(first)
	if err == nil && rest != "" {
		to, err = strconv.Atoi(rest[1:])
	}
	switch {
	case err != nil || rest == "" && j >= 0:
		return "", 0, 0, false, diag.Errorf(diag.Usage, "lines", text, "got %q, want numbers of lines",
			text[i+1:]).
			WithHint("write FUNC, FUNC:3-7, FILE.c:10, FILE.c:10-20 or FILE.c:10+5")
	case rest == "":
		to = from + fewLines
	case rest[0] == '+':
		to += from
	}
	if to < from {
		return "", 0, 0, false, diag.Errorf(diag.Usage, "lines", text,
			"the last line is before the first").
			WithHint("write the smaller number first")
	}
	return text[:i], from, min(to, from+mostLines), true, nil
}

// fewLines is how many lines are shown behind the first if the user names no last one; mostLines bounds
// them.
const (
	fewLines  = 10
	mostLines = 10_000
)

// A Scope has the variables that can be read at a place of the code.
type Scope struct {
	Place     string
	Variables []symbol.Variable
}

// Variables finds the variables at places named by the user's text, the parameter what: a function's begin,
// FUNC+0x10, FILE.c:10. For functions of the kernel it finds the arguments, from the kernel's types.
func (r *Resolver) Variables(file, what string) ([]Scope, error) {
	if file == "" {
		return r.kernelArguments(what)
	}
	s := Spec{Kind: Uprobe, File: file, Name: what}
	m, path, shown, err := r.open(&s)
	if err != nil {
		return nil, err
	}
	places, _, err := r.places(&s, m, path, shown)
	if err != nil {
		return nil, err
	}
	var scopes []Scope
	m.signature(places[0].addr) // reads the debug information
	for _, p := range places {
		list, known := m.signatures.Variables(p.addr)
		if !known {
			continue
		}
		place := fmt.Sprintf("%s+%d", symbol.Demangle(p.fn.name), p.addr-p.fn.addr)
		scopes = append(scopes, Scope{place, list})
	}
	if len(scopes) == 0 {
		return nil, s.fail(what, shown, errors.New("it has no debug information, which tells the variables")).
			WithHint("compile with -g, or install its debug symbols; registers are there without: uprobe(%q, %q)",
				file, what)
	}
	return scopes, nil
}

// kernelArguments finds the arguments of functions of the kernel.
func (r *Resolver) kernelArguments(what string) ([]Scope, error) {
	if strings.ContainsAny(what, ".+") {
		return nil, noKernelLines(what)
	}
	known, err := r.kernelFunctions()
	if err != nil {
		return nil, diag.Errorf(diag.Attach, "variables of", what, "%w", err).WithHint("run as root")
	}
	if !slices.Contains(known, what) {
		return nil, diag.Errorf(diag.Attach, "variables of", what, "no such function in the kernel%s",
			diag.DidYouMean(what, known)).WithHint("list functions with: ppscript probe -F '*%s*'", what)
	}
	_, name, in := strings.Cut(what, ":")
	if !in {
		name = what
	}
	var f *kerneltype.Function
	if r.Types != nil {
		f, _ = r.Types.Function(name)
	}
	if f == nil {
		return nil, diag.Errorf(diag.Attach, "variables of", what,
			"the kernel's types do not have it: it is in none, or CONFIG_DEBUG_INFO_BTF is missing").
			WithHint("arguments are in registers: kprobe(%q) has arg1, arg2, ...", what)
	}
	scope := Scope{Place: name + "+0"}
	for _, p := range f.Params {
		scope.Variables = append(scope.Variables, symbol.Variable{Name: p.Name, Type: p.Type.String()})
	}
	return []Scope{scope}, nil
}
