package features

import (
	"os"
	"testing"

	"github.com/cilium/ebpf/btf"

	"ppscript/tests/testkit"
)

// Our walk of the raw types and the library agree.
func TestMembers(t *testing.T) {
	testkit.Requires(t, testkit.BTF)
	raw, err := os.ReadFile(vmlinux)
	if err != nil {
		t.Fatal(err)
	}
	f := func(typ, member string) {
		t.Helper()
		got, ok := memberOf(raw, typ, member)
		want, is := decodedMember(typ, member)
		if ok != is || got != want {
			t.Errorf("%s.%s: got %d %v, want %d %v", typ, member, got, ok, want, is)
		}
	}
	for _, m := range []string{"pid", "tgid", "prio", "comm", "nosuch", ""} {
		f("task_struct", m)
	}
	f("list_head", "prev")
	f("nosuch", "x")
	offset, function, _ := LookUps("/proc/kallsyms")
	if at, ok := offset("task_struct", "tgid"); !ok || at <= 0 {
		t.Errorf("got %d %v, want a place", at, ok)
	}
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"schedule", "bpf_preempt_disable", "nosuch", ""} {
		var want btf.TypeID
		if typ, err := spec.AnyTypeByName(name); err == nil {
			if want, err = spec.TypeID(typ); err != nil {
				t.Fatal(err)
			}
		}
		if got, ok := function(name); ok != (want != 0) || ok && got != int(want) {
			t.Errorf("%q: got %d %v, want %d", name, got, ok, want)
		}
	}
}

// FuzzMembers: damaged types are no members, and nothing panics.
func FuzzMembers(f *testing.F) {
	f.Add([]byte("\x9f\xeb\x01\x00\x18\x00\x00\x00" +
		"\x00\x00\x00\x00\x18\x00\x00\x00\x18\x00\x00\x00\x06\x00\x00\x00" +
		"\x01\x00\x00\x00\x01\x00\x00\x04\x08\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00s\x00m\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		at, ok := memberOf(b, "s", "m")
		if at < 0 || at > 1<<29 || !ok && at != 0 && at%8 == 0 && len(b) < 24 {
			t.Errorf("got %d %v", at, ok)
		}
		if string(b[:min(2, len(b))]) != "\x9f\xeb" && ok {
			t.Error("got a member of what is no BTF")
		}
	})
}
