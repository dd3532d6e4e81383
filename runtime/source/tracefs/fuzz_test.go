package tracefs

import (
	"bytes"
	"testing"

	"ppscript/runtime/event"
)

// FuzzText renders random records by random print fmts: no panic, the text
// before stays, and the same record gives the same text.
func FuzzText(f *testing.F) {
	for _, printFmt := range []string{
		`"a=%d s=%s", REC->a, REC->s`,
		`"%*pbl %.*s %-*d", REC->a, REC->u, REC->a, __get_str(d), REC->a, 1`,
		`"%s %s", __print_flags(REC->a, "|", { 1, "A" }, { 0, "B" }), __print_symbolic(REC->n, { -1, "x" })`,
		`"%s %s", __print_array(__get_dynamic_array(d), __get_dynamic_array_len(d) / 8, 8), __print_hex(REC->u, REC->a)`,
		`"%pI4 %pI6c %pISpc %pU %*ph %pS", REC->u, REC->u, __get_dynamic_array(d), &REC->u, REC->a, __get_dynamic_array(d), REC->n`,
		`"%d %c %s", 1 / REC->a, __get_str(d)[REC->a], ({ int x = REC->a; x << 40; }) ? REC->s : (char *)REC->n`,
		`"%s", __print_hex_dump("", 1, 16, 8, __get_dynamic_array(d), REC->a, true)`,
	} {
		f.Add([]byte(printFmt), []byte(
			"\x01\x02\x03\x04\x05\x06\x07\x08\xff\xff\xff\xff\x40\x00\x08\x00abcdefghijklmnopqrstuvwxyz"))
		f.Add([]byte(printFmt), []byte{})
	}
	o := &Options{HZ: 100, Ksym: func(a uint64) (string, uint64, uint64, bool) { return "f", 1, 2, a&1 == 0 }}
	f.Fuzz(func(t *testing.T, printFmt, raw []byte) {
		if bytes.Contains(printFmt, []byte("format:")) {
			return
		}
		s := schemaOf(t, o, `""`, "int a", "__data_loc unsigned long[] d", "char s[16]", "u8 u[16]", "u64 n")
		s.PrintFmt = string(printFmt)
		ev := &event.Event{Raw: raw}
		one := s.Text([]byte("before"), ev)
		if !bytes.HasPrefix(one, []byte("before")) {
			t.Fatalf("got %q, which lost what was there", one)
		}
		if two := s.Text([]byte("before"), ev); !bytes.Equal(one, two) {
			t.Fatalf("got %q, then %q", one, two)
		}
		if name, ok := s.SymbolicOf("a", ev); ok && len(name) > 1<<20 {
			t.Fatalf("name of %d bytes", len(name))
		}
	})
}

// What recordings keep of the kernel's symbols and of its constant texts.
func FuzzKept(f *testing.F) {
	f.Add("ffffffff81000000 T _text\nffffffff81000010 t f\t[m]\n", uint64(0xffffffff81000008))
	f.Add("0xffffffff82000000 : \"Start\\n\"\n", uint64(0xffffffff82000000))
	f.Add("ffffffffffffffff t z\n1 w a\n", uint64(1))
	f.Fuzz(func(t *testing.T, text string, addr uint64) {
		name, off, size, ok := parseKallsyms(text).find(addr)
		if ok && (name == "" || off > addr || size != 0 && off >= size) {
			t.Errorf("%#x: got %q+%#x of %#x", addr, name, off, size)
		}
		if s, ok := parseStrings(text)(addr); !ok && s != "" || len(s) > len(text) {
			t.Errorf("%#x: got %q", addr, s)
		}
	})
}
