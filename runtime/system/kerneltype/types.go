package kerneltype

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// Types are the types of a kernel and of its modules. Its methods may be called
// from several goroutines.
type Types struct {
	mu      sync.Mutex
	cache   *btf.Cache
	modules []string // modules that are not read yet; nil before the first search
	listed  bool

	enumerators map[string]int64 // of vmlinux and modules; nil until it is needed
}

// Running returns the types of the running kernel, which are read when they are
// needed.
func Running() *Types { return &Types{cache: btf.NewCache()} }

// directory is the directory with the kernel's types.
const directory = "/sys/kernel/btf"

// noTypes is the error that the kernel has no types.
func noTypes(err error) error {
	if !kernel.HasSysfs(kernel.Roots{}) {
		return &diag.Unverified{Feature: "the kernel's types", Why: errors.New("sysfs is not mounted")}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, btf.ErrNotFound) ||
		errors.Is(err, ebpf.ErrNotSupported) {
		err = errors.New("this kernel does not show its types")
	}
	return diag.Errorf(diag.Attach, "read", "the kernel's types", "%w", err).
		WithHint("use a kernel with CONFIG_DEBUG_INFO_BTF; see: ppscript doctor")
}

// specs calls visit with the types of the kernel, then with the types of each
// module, until visit returns true.
func (t *Types) specs(visit func(s *btf.Spec) bool) error {
	base, err := t.cache.Kernel()
	if err != nil {
		return noTypes(err)
	}
	if visit(base) {
		return nil
	}
	if !t.listed {
		t.listed = true
		files, _ := os.ReadDir(directory)
		for _, f := range files {
			if f.Name() != "vmlinux" {
				t.modules = append(t.modules, f.Name())
			}
		}
	}
	for _, m := range t.modules {
		// A module that cannot be read, or was just removed, is left out.
		if s, err := t.cache.Module(m); err == nil && visit(s) {
			return nil
		}
	}
	return nil
}

// find returns the first type with a name for which good returns true.
func (t *Types) find(name string, good func(btf.Type) bool) (found btf.Type, err error) {
	err = t.specs(func(s *btf.Spec) bool {
		list, err := s.AnyTypesByName(name)
		if err != nil {
			return false
		}
		for _, typ := range list {
			if good(typ) {
				found = typ
				return true
			}
		}
		return false
	})
	return found, err
}

// Named finds a type by its C declaration: "struct task_struct", "u32",
// "struct page *", "enum hrtimer_mode". The word struct, union or enum may be
// left out.
func (t *Types) Named(decl string) (Type, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(decl)
	stars := 0
	for strings.HasSuffix(text, "*") || strings.HasSuffix(text, " const") {
		if strings.HasSuffix(text, "*") {
			stars++
			text = text[:len(text)-1]
		} else {
			text = strings.TrimSuffix(text, " const")
		}
		text = strings.TrimSpace(text)
	}
	words := slices.DeleteFunc(strings.Fields(text), func(w string) bool {
		return w == "const" || w == "volatile" || strings.HasPrefix(w, "__user") || w == "__rcu" ||
			w == "__percpu" || w == "__iomem"
	})
	kind := ""
	if len(words) > 1 && (words[0] == "struct" || words[0] == "union" || words[0] == "enum") {
		kind, words = words[0], words[1:]
	}
	name := strings.Join(words, " ")
	var typ btf.Type
	if name == "void" {
		typ = &btf.Void{}
	} else {
		var err error
		typ, err = t.find(spelled(name), func(typ btf.Type) bool { return isKind(typ, kind) })
		if err != nil {
			return Type{}, err
		}
	}
	if typ == nil {
		return Type{}, diag.Errorf(diag.Run, "type", decl, "the kernel has no type of that name%s",
			t.near(kind, name)).
			WithHint(`write it as C does: "struct task_struct"`)
	}
	for range stars {
		typ = &btf.Pointer{Target: typ}
	}
	return Type{typ}, nil
}

// near is the hint for an unknown name: the type of that kind with the most
// similar name.
func (t *Types) near(kind, name string) string {
	var names []string
	err := t.specs(func(s *btf.Spec) bool {
		for typ := range s.All() {
			if n := typ.TypeName(); n != "" && name != "" && n[0] == name[0] && isKind(typ, kind) {
				names = append(names, n)
			}
		}
		return false
	})
	if err != nil {
		return ""
	}
	slices.Sort(names)
	best := diag.Nearest(name, slices.Compact(names))
	if best == "" {
		return ""
	}
	if kind != "" {
		best = kind + " " + best
	}
	return " (did you mean " + best + "?)"
}

// spelled is the name of a basic type in BTF.
func spelled(name string) string {
	switch name {
	case "unsigned", "uint":
		return "unsigned int"
	case "long", "signed long", "long int":
		return "long int"
	case "unsigned long", "ulong", "long unsigned":
		return "long unsigned int"
	case "long long", "signed long long":
		return "long long int"
	case "unsigned long long":
		return "long long unsigned int"
	case "short", "signed short":
		return "short int"
	case "unsigned short", "ushort":
		return "short unsigned int"
	case "bool":
		return "_Bool"
	}
	return name
}

// isKind reports that a type is declared with the word struct, union or enum,
// or without any.
func isKind(t btf.Type, word string) bool {
	switch t := t.(type) {
	case *btf.Struct:
		return (word == "struct" || word == "") && len(t.Members) > 0
	case *btf.Union:
		return word == "union" || word == ""
	case *btf.Enum:
		return word == "enum" || word == ""
	case *btf.Typedef, *btf.Int:
		return word == ""
	}
	return false
}

// Enumerator returns the value of an enumerator, such as PIDTYPE_TGID.
func (t *Types) Enumerator(name string) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.enumerators == nil {
		all := map[string]int64{}
		err := t.specs(func(s *btf.Spec) bool {
			for typ := range s.All() {
				e, ok := typ.(*btf.Enum)
				if !ok {
					continue
				}
				for _, v := range e.Values {
					if _, have := all[v.Name]; have {
						continue
					}
					all[v.Name] = int64(v.Value)
					if e.Signed && e.Size == 4 {
						all[v.Name] = int64(int32(v.Value))
					}
				}
			}
			return false
		})
		if err != nil {
			return 0, err
		}
		t.enumerators = all
	}
	if v, ok := t.enumerators[name]; ok {
		return v, nil
	}
	var near []string
	for n := range t.enumerators {
		if len(n) > 2 && len(name) > 2 && n[:3] == name[:3] {
			near = append(near, n)
		}
	}
	slices.Sort(near)
	return 0, diag.Errorf(diag.Run, "enumerator", name, "the kernel has none of that name%s",
		diag.DidYouMean(name, near)).
		WithHint("macros are not among the kernel's types: write their number")
}

// A Param is a parameter of a function.
type Param struct {
	Name string
	Type Type
}

// A Function has the parameters and the result type of a kernel function.
type Function struct {
	Name   string
	Params []Param
	Result Type
}

// Function finds a function of the kernel or of a module; ok is false if the
// types do not have it.
func (t *Types) Function(name string) (f *Function, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	typ, err := t.find(name, func(typ btf.Type) bool { _, is := typ.(*btf.Func); return is })
	if err != nil || typ == nil {
		return nil, false
	}
	proto, ok := typ.(*btf.Func).Type.(*btf.FuncProto)
	if !ok {
		return nil, false
	}
	f = &Function{Name: name, Result: Type{proto.Return}}
	for _, p := range proto.Params {
		f.Params = append(f.Params, Param{p.Name, Type{p.Type}})
	}
	return f, true
}

// Tracepoint finds the arguments with which the kernel calls a tracepoint; ok is
// false if the types do not have it.
func (t *Types) Tracepoint(name string) (args []Param, ok bool) {
	f, ok := t.Function("__traceiter_" + name)
	if !ok || len(f.Params) == 0 {
		return nil, false
	}
	return f.Params[1:], true // the first parameter is the data of the tracepoint's receiver
}

// PerCPU finds a per-CPU variable: its type, and its offset in the per-CPU memory.
func (t *Types) PerCPU(name string) (typ Type, offset int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	base, err := t.cache.Kernel()
	if err != nil {
		return Type{}, 0, noTypes(err)
	}
	var section *btf.Datasec
	if err := base.TypeByName(".data..percpu", &section); err != nil {
		return Type{}, 0, noTypes(errors.New("this kernel does not show the variables of its CPUs"))
	}
	var names []string
	for _, v := range section.Vars {
		variable, ok := v.Type.(*btf.Var)
		if !ok {
			continue
		}
		if variable.Name == name {
			return Type{variable.Type}, int(v.Offset), nil
		}
		names = append(names, variable.Name)
	}
	return Type{}, 0, diag.Errorf(diag.Run, "per-CPU variable", name, "the kernel has none of that name%s",
		diag.DidYouMean(name, names)).
		WithHint("name a variable of the kernel's own that each CPU has, such as runqueues")
}
