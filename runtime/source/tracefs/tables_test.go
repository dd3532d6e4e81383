package tracefs

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"ppscript/runtime/event"
)

// exitFmt is built like kvm:kvm_exit: one table for each vendor, and the same
// field again as flags.
const exitFmt = `"vcpu %u reason %s%s%s dir %s", REC->vcpu, (REC->isa == 1) ?
	__print_symbolic(REC->reason & 0xffff, { 1, "EXTERNAL_INTERRUPT" }, { 12, "HLT" }) :
	__print_symbolic(REC->reason, { 0x60, "interrupt" }, { 0x78, "hlt" }, { 0x78, "again" }),
	(REC->isa == 1 && REC->reason & ~0xffff) ? " " : "",
	(REC->isa == 1) ? __print_flags(REC->reason & ~0xffff, " ", { 0x80000000, "FAILED_VMENTRY" }) : "",
	__print_flags((unsigned long)REC->dir, "|", { 2, "W" }, { 1, "R" })`

func exitSchema(t testing.TB) *event.Schema {
	return schemaOf(t, new(Options), exitFmt, "unsigned int vcpu", "unsigned int reason",
		"unsigned int isa", "int dir")
}

func TestSymbolicOfFollowsThePrintFmt(t *testing.T) {
	s := exitSchema(t)
	f := func(isa, reason int, want string) {
		t.Helper()
		got, ok := s.SymbolicOf("reason", record(t, s, map[string]any{"isa": isa, "reason": reason}))
		if !ok || got != want {
			t.Errorf("isa %d reason %#x: got %q, %t, want %q", isa, reason, got, ok, want)
		}
	}
	f(1, 12, "HLT")
	f(1, 0x80000001, "EXTERNAL_INTERRUPT")
	f(2, 0x78, "hlt")
	f(2, 0x60, "interrupt")
	f(2, 0x999, "0x999")
	f(2, 0x999, "0x999")
	if got, ok := s.SymbolicOf("dir", record(t, s, map[string]any{"dir": 3})); !ok || got != "W|R" {
		t.Errorf("dir: got %q, %t, want W|R", got, ok)
	}
	if got, ok := s.SymbolicOf("vcpu", record(t, s, nil)); ok {
		t.Errorf("vcpu: got %q, want none", got)
	}
	if got, ok := s.SymbolicOf("reason", &event.Event{}); ok {
		t.Errorf("empty record: got %q, want none", got)
	}
	want := "vcpu 3 reason HLT FAILED_VMENTRY dir R"
	ev := record(t, s, map[string]any{"vcpu": 3, "isa": 1, "reason": 0x8000000c, "dir": 1})
	if got := string(s.Text(nil, ev)); got != want {
		t.Errorf("text: got %q, want %q", got, want)
	}
}

func TestSymbolicTables(t *testing.T) {
	s := exitSchema(t)
	dir := s.Symbolic("dir")
	if dir == nil || !dir.Flags || dir.Delim != "|" || !slices.Equal(dir.Order, []uint64{2, 1}) ||
		!maps.Equal(dir.Names, map[uint64]string{1: "R", 2: "W"}) {
		t.Errorf("dir: got %+v", dir)
	}
	// The table of the plain value is preferred to tables of expressions on it.
	reason := s.Symbolic("reason")
	if reason == nil || reason.Flags ||
		!maps.Equal(reason.Names, map[uint64]string{0x60: "interrupt", 0x78: "hlt"}) {
		t.Errorf("reason: got %+v", reason)
	}
	if got := s.Symbolic("vcpu"); got != nil {
		t.Errorf("vcpu: got %+v, want none", got)
	}
}

func TestLiveSymbols(t *testing.T) {
	f := live(t)
	if s, err := f.Schema("kvm", "kvm_exit"); err == nil {
		for _, c := range []struct {
			isa, reason int
			want        string
		}{{1, 12, "HLT"}, {2, 0x78, "hlt"}, {1, 48, "EPT_VIOLATION"}, {2, 0x400, "npf"}} {
			got, ok := s.SymbolicOf("exit_reason",
				record(t, s, map[string]any{"isa": c.isa, "exit_reason": c.reason}))
			if !ok || got != c.want {
				t.Errorf("kvm_exit of isa %d, reason %d: got %q, %t, want %q", c.isa,
					c.reason, got, ok, c.want)
			}
		}
	}
	s, err := f.Schema("irq", "softirq_entry")
	if err != nil {
		t.Fatal(err)
	}
	if name, _ := s.Symbolic("vec").Lookup(1); name != "TIMER" {
		t.Errorf("softirq 1: got %q, want TIMER", name)
	}
	if s, err = f.Schema("sched", "sched_switch"); err != nil {
		t.Fatal(err)
	}
	for state, want := range map[int]string{0: "R", 1: "S", 2: "D", 0x100: "R"} {
		if got, ok := s.SymbolicOf("prev_state", record(t, s, map[string]any{"prev_state": state})); !ok ||
			got != want {
			t.Errorf("prev_state %d: got %q, %t, want %q", state, got, ok, want)
		}
	}
}

func TestSeveralGoroutinesRender(t *testing.T) {
	s := exitSchema(t)
	ev := record(t, s, map[string]any{"isa": 2, "reason": 0x78})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				if got := string(s.Text(nil, ev)); got != "vcpu 0 reason hlt dir " {
					t.Errorf("got %q", got)
					return
				}
				s.SymbolicOf("reason", ev)
			}
		})
	}
	wg.Wait()
}
