package tracefs

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/event"
)

// sameShown compares the texts of single fields with the kernel's line of the
// event, and notes which fields have any.
func sameShown(s *event.Schema, e *event.Event, line string, seen map[string]bool) error {
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Shown == nil {
			continue
		}
		text, ok := shownAt(f, e)
		switch {
		case !ok:
			continue
		case f.Type == "dev_t": // the kernel has 254,1 in some events, and 0xfe:0x1
			major, minor, _ := strings.Cut(text, ":")
			x, _ := strconv.Atoi(major)
			y, _ := strconv.Atoi(minor)
			if !strings.Contains(strings.ReplaceAll(line, ",", ":"), text) &&
				!strings.Contains(line, fmt.Sprintf("%#x:%#x", x, y)) {
				return fmt.Errorf("%s is %q, which the kernel does not print", f.Name, text)
			}
		case s.System == "raw_syscalls" || s.System == "syscalls":
			// The kernel's trace has no names of errors.
		case !strings.Contains(line, text):
			return fmt.Errorf("%s is %q, which the kernel does not print", f.Name, text)
		}
		seen[s.FullName()+"."+f.Name] = true
	}
	return nil
}

// shownAt is how the field of a record is shown by its value alone.
func shownAt(f *event.Field, e *event.Event) (string, bool) {
	if f.Kind == event.Int {
		return f.Shown(f.Value(e))
	}
	return f.Shown(event.StrOf(string(f.Loc(e))))
}

func TestShown(t *testing.T) {
	o := &Options{
		Ksym: func(a uint64) (string, uint64, uint64, bool) { return "fn", a & 0xf, 0x40, a>>8 == 0x12 },
	}
	s := schemaOf(t, o, `"vec=%u [action=%s] state=%s%s at=%pS plain=%d both=%s addr=%pI4 n=%d,%d p=%p", `+
		`REC->vec, __print_symbolic(REC->vec, { 3, "NET_RX" }), `+
		`REC->state & 0xff ? __print_flags(REC->state & 0xff, "|", { 1, "S" }, { 2, "D" }) : "R", `+
		`REC->state & 0x100 ? "+" : "", (void *)REC->at, REC->plain, `+
		`REC->vec ? __print_symbolic(REC->both, { 1, "one" }) : "none", REC->addr, REC->n, REC->n, REC->at`,
		"unsigned int vec", "long state", "u64 at", "int plain", "int both", "u8 addr[4]", "int n")
	f := func(field string, v event.Value, want string) {
		t.Helper()
		fl, _ := s.Field(field)
		got, ok := fl.Shown(v)
		if got != want && ok || ok != (want != "") {
			t.Errorf("%s of %v: got %q, %v, want %q", field, v, got, ok, want)
		}
	}
	f("vec", event.UintOf(3), "NET_RX")
	f("vec", event.UintOf(4), "0x4") // as the kernel prints a number without name
	f("vec", event.IntOf(-1), "")    // which the field cannot have
	f("state", event.IntOf(0), "R")
	f("state", event.IntOf(3), "S|D")
	f("state", event.IntOf(0x100), "R+")
	f("at", event.UintOf(0x1234), "fn+0x4/0x40")
	f("plain", event.IntOf(7), "")
	f("both", event.IntOf(1), "") // its text depends on vec too
	f("addr", event.StrOf("\x7f\x00\x00\x01"), "127.0.0.1")
	f("addr", event.StrOf("short"), "")
	f("n", event.IntOf(1), "")
	f("vec", event.StrOf("total"), "") // a row of sums
}

func TestShownOfKnownTypes(t *testing.T) {
	f := func(got string, ok bool, want string) {
		t.Helper()
		if got != want && ok || ok != (want != "") {
			t.Errorf("got %q, %v, want %q", got, ok, want)
		}
	}
	got, ok := shownDevice(event.UintOf(254<<20 | 1))
	f(got, ok, "254:1")
	for n, want := range map[int64]string{-2: "-2 ENOENT", -4095: "", 0: "", 3: "", -5000: ""} {
		got, ok := shownReturn(event.IntOf(n))
		f(got, ok, want)
	}
}
