package native

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// services are all that functions ask for.
var services = expr.Services{
	Traced:      func(tid int32) bool { return tid == 7 },
	Ksym:        func(addr uint64) string { return "symbol" },
	KsymOffset:  func(addr uint64) string { return "symbol+0x1" },
	Comm:        func(tid int32) string { return "bash" },
	SyscallName: func(nr int64) string { return "read" },
	ExitReason:  func(isa, code int64) string { return "HLT" },
}

// argument is a field that a parameter takes.
func argument(p Param) expr.Node {
	f := &event.Field{Name: p.Name, Size: 8, Kind: event.Int, Signed: p.Kind != Address, Place: event.InRaw}
	if p.Kind == Text {
		f.Kind = event.Str
	}
	return expr.NewField(f, expr.Self)
}

// An entry tells the truth about programs of the kernel: its node has Go code only if HostOnly says why.
func TestHostOnlyIsTrue(t *testing.T) {
	for _, f := range Functions {
		if f.Memory != nil {
			if f.HostOnly != "" || f.Node != nil {
				t.Errorf("%s: a place in the kernel's memory is read by programs only", f.Name)
			}
			continue
		}
		k := Call{Services: &services, C: f.Name == ""}
		for _, p := range f.Params {
			if p.Kind != Flag {
				k.Args = append(k.Args, argument(p))
			}
		}
		n, err := f.Call(&k)
		if err != nil {
			t.Errorf("%s %s: %v", f.Name, f.C, err)
			continue
		}
		here := false
		expr.Walk(n, func(n expr.Node) bool {
			if c, ok := n.(*expr.Native); ok && c.Kernel == nil {
				here = true
			}
			return true
		})
		if here != (f.HostOnly != "") {
			t.Errorf("%s %s: got Go code only: %t, and the reason %q", f.Name, f.C, here, f.HostOnly)
		}
	}
}

// What a function gives for constants is what the interpreter returns.
func TestConstants(t *testing.T) {
	f := func(want string, name string, args ...expr.Node) {
		t.Helper()
		for _, fn := range Functions {
			if fn.Name != name {
				continue
			}
			n, err := fn.Call(&Call{Services: &services, Args: args})
			if err != nil {
				t.Fatal(name, err)
			}
			got, err := expr.Evaluate(n)
			if err != nil || got.String() != want {
				t.Errorf("%s%v: got %v, %v, want %s", name, args, got, err, want)
			}
			return
		}
		t.Errorf("there is no %s", name)
	}
	number, text := expr.NewInt, expr.NewStr
	f("12", "log2", number(5000))
	f("-1", "log2", number(0))
	f("80", "ntohs", number(0x5000))
	f("2130706433", "ntohl", number(0x0100007f))
	f("0", "strncmp", text("kworker/0:1"), text("kworker"), number(7))
	f("-1", "strncmp", text("a\x00b"), text("a\x00c"), number(9))
	f("0", "strncmp", text("a"), text("b"), number(-1))
	f(`"symbol"`, "ksym", number(1), number(0))
	f(`"symbol+0x1"`, "ksym", number(1), number(1))
	f(`"bash"`, "comm", number(1))
	f(`"read"`, "syscall_name", number(0))
	f(`"ENOENT"`, "errno_name", number(-2))
}

// C's comparisons end at the NUL, and take a size for what it is.
func TestComparedInC(t *testing.T) {
	f := func(usage string, want int64, args ...expr.Node) {
		t.Helper()
		for _, fn := range Functions {
			if len(fn.C) == 0 || CName(fn.C[0]) != usage {
				continue
			}
			n, err := fn.Call(&Call{Services: &services, Args: args, C: true})
			if err != nil {
				t.Fatal(usage, err)
			}
			if got, err := expr.Evaluate(n); err != nil || got.Int != want {
				t.Errorf("%s%v: got %v, %v, want %d", usage, args, got, err, want)
			}
		}
	}
	text := expr.NewStr
	f("log2", 12, expr.NewInt(5000))
	f("log2", -1, expr.NewInt(-5))
	f("log2", 63, expr.NewUint(1<<63))
	f("log2", -1, expr.NewUint(0))
	f("strncmp", 0, text("a\x00b"), text("a\x00c"), expr.NewUint(9))
	f("strncmp", -1, text("a"), text("b"), expr.NewUint(1<<64-1))
	f("strcmp", 1, text("b"), text("a"))
	f("strcmp", 0, text("b\x00x"), text("b"))
}

func TestNeeds(t *testing.T) {
	for _, f := range Functions {
		if f.Needs.Here == nil {
			continue
		}
		if f.Needs.Missing == "" {
			t.Errorf("%s %s does not say what it needs", f.Name, f.C)
		}
		for _, s := range []*expr.Services{nil, {}} {
			if _, err := f.Call(&Call{Services: s}); err != ErrMissing {
				t.Errorf("%s %s: got %v, want %v", f.Name, f.C, err, ErrMissing)
			}
		}
	}
}
