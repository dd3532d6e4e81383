package tracefs

import (
	"testing"
)

func TestNumbersAsTheKernelPrintsThem(t *testing.T) {
	f := func(format string, v int64, want string) {
		t.Helper()
		p := parsePieces(format)
		if len(p) != 1 || p[0].lit != "" {
			t.Fatalf("%s: got %d pieces, want 1", format, len(p))
		}
		if got := string(p[0].appendInt(nil, uint64(v))); got != want {
			t.Errorf("%s of %d: got %q, want %q", format, v, got, want)
		}
	}
	f("%d", -5, "-5")
	f("%i", 1<<32+7, "7") // an int takes the low half
	f("%u", -1, "4294967295")
	f("%lu", -1, "18446744073709551615")
	f("%lld", -1<<63, "-9223372036854775808")
	f("%llx", -1, "ffffffffffffffff")
	f("%Lu", -1, "18446744073709551615")
	f("%zd", -2, "-2")
	f("%hhu", 0x1ff, "255")
	f("%hd", 0x8000, "-32768")
	f("%hhd", 0x80, "-128")
	f("%x", 0xabc, "abc")
	f("%X", 0xabc, "ABC")
	f("%#x", 0, "0x0") // C prints 0
	f("%#X", 255, "0XFF")
	f("%#o", 8, "010")
	f("%#o", 0, "0")
	f("%o", 8, "10")
	f("%5d", 42, "   42")
	f("%-5d", 42, "42   ")
	f("%05d", -42, "-0042")
	f("%-05d", 42, "42   ")
	f("%+d", 42, "+42")
	f("% d", 42, " 42")
	f("%08lx", 0x1234, "00001234")
	f("%#010x", 0x1234, "0x00001234")
	f("%.3d", 7, "007")
	f("%6.3d", 7, "   007")
	f("%2d", 100, "100")
	f("%0x", 16, "10")
}

func TestFormatSplitting(t *testing.T) {
	p := parsePieces("a=%d%% b=%-*.*s c=%pISpc!%q\n")
	if len(p) != 4 {
		t.Fatalf("got %d pieces, want 4", len(p))
	}
	if p[0].lit != "a=" || p[0].verb != 'd' {
		t.Errorf("first: got %+v", p[0])
	}
	if p[1].lit != "% b=" || p[1].verb != 's' || !p[1].left || !p[1].starWidth || !p[1].starPrec {
		t.Errorf("second: got %+v", p[1])
	}
	if p[2].lit != " c=" || p[2].verb != 'p' || p[2].ext != "ISpc" {
		t.Errorf("third: got %+v", p[2])
	}
	if p[3].lit != "!%q\n" || p[3].verb != 0 {
		t.Errorf("rest: got %+v", p[3])
	}
}

func TestTextConversions(t *testing.T) {
	f := func(format, text, want string) {
		t.Helper()
		s := parsePieces(format)[0].spec
		if got := string(s.appendText(nil, []byte(text))); got != want {
			t.Errorf("%s of %q: got %q, want %q", format, text, got, want)
		}
		if got := string(s.appendString([]byte("x"), text)); got != "x"+want {
			t.Errorf("%s of %q as a string: got %q, want %q", format, text, got, "x"+want)
		}
	}
	f("%s", "bash\x00junk", "bash")
	f("%8s", "bash", "    bash")
	f("%-8s", "bash", "bash    ")
	f("%.2s", "bash", "ba")
	f("%5.2s", "bash", "   ba")
	f("%3s", "bash", "bash")
	s := parsePieces("%3c")[0].spec
	if got := string(s.appendChar(nil, 'R')); got != "  R" {
		t.Errorf("%%3c: got %q", got)
	}
}

func TestDataPointers(t *testing.T) {
	f := func(format string, data []byte, want string) {
		t.Helper()
		s := parsePieces(format)[0].spec
		if s.starWidth {
			s.setWidth(int64(8 * len(data)))
			if s.ext[0] == 'h' {
				s.setWidth(int64(len(data)))
			}
		}
		if kindOf(s.ext) != byData {
			t.Errorf("%s: not recognised as a pointer to data", format)
		}
		if got := string(s.appendData(nil, data)); got != want {
			t.Errorf("%s of %x: got %q, want %q", format, data, got, want)
		}
	}
	f("%pI4", []byte{127, 0, 0, 1}, "127.0.0.1")
	f("%16pI4", []byte{127, 0, 0, 1}, "       127.0.0.1")
	f("%pi4", []byte{127, 0, 10, 1}, "127.000.010.001")
	f("%pI4h", []byte{1, 0, 0, 127}, "127.0.0.1")
	v6 := func(groups ...uint16) []byte {
		var b []byte
		for _, g := range groups {
			b = append(b, byte(g>>8), byte(g))
		}
		return b
	}
	f("%pI6", v6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), "2001:0db8:0000:0000:0000:0000:0000:0001")
	f("%pi6", v6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), "20010db8000000000000000000000001")
	f("%pI6c", v6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), "2001:db8::1")
	f("%pI6c", v6(0, 0, 0, 0, 0, 0, 0, 0), "::")
	f("%pI6c", v6(0, 0, 0, 0, 0, 0, 0, 1), "::1")
	f("%pI6c", v6(1, 0, 0, 2, 0, 0, 0, 0), "1:0:0:2::")
	f("%pI6c", v6(1, 0, 2, 3, 4, 5, 6, 7), "1:0:2:3:4:5:6:7")
	f("%pI6c", v6(0, 0, 0, 0, 0, 0xffff, 0x7f00, 1), "::ffff:127.0.0.1")
	sin := []byte{2, 0, 0, 80, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}
	f("%pIS", sin, "10.0.0.1")
	f("%pISp", sin, "10.0.0.1:80")
	f("%pISpc", sin, "10.0.0.1:80")
	sin6 := append([]byte{10, 0, 0x1f, 0x90, 0, 0, 0, 5}, v6(0, 0, 0, 0, 0, 0, 0, 1)...)
	sin6 = append(sin6, 3, 0, 0, 0)
	f("%pISc", sin6, "::1")
	f("%pISpc", sin6, "[::1]:8080")
	f("%pISpfsc", sin6, "[::1]:8080/5%3")
	f("%pISpc", make([]byte, 16), "(einval)")
	mac := []byte{0, 0x1a, 0x2b, 3, 4, 0xff}
	f("%pM", mac, "00:1a:2b:03:04:ff")
	f("%pMF", mac, "00-1a-2b-03-04-ff")
	f("%pMR", mac, "ff:04:03:2b:1a:00")
	f("%pm", mac, "001a2b0304ff")
	uuid := []byte{
		0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
	}
	f("%pU", uuid, "00112233-4455-6677-8899-aabbccddeeff")
	f("%pUb", uuid, "00112233-4455-6677-8899-aabbccddeeff")
	f("%pUL", uuid, "33221100-5544-7766-8899-AABBCCDDEEFF")
	f("%*ph", mac, "00 1a 2b 03 04 ff")
	f("%*phC", mac, "00:1a:2b:03:04:ff")
	f("%*phN", mac, "001a2b0304ff")
	f("%*pb", []byte{0x0f, 0, 0, 0, 1, 0}, "0001,0000000f")
	f("%*pbl", []byte{0x2f, 0, 0, 0x80, 1, 0}, "0-3,5,31-32")
	f("%*pbl", []byte{0, 0}, "")
	f("%pad", []byte{0x10, 0x32, 0, 0, 0, 0, 0, 0}, "0x0000000000003210")
	f("%pI4", []byte{127}, "127.0.0.0") // short data: zeros, no panic
	f("%pISpc", []byte{10}, "[::]:0")
}

func TestAddresses(t *testing.T) {
	o := &Options{Ksym: func(addr uint64) (string, uint64, uint64, bool) {
		switch addr {
		case 0x1010:
			return "do_work", 0x10, 0x200, true
		case 0x100f:
			return "do_work", 0xf, 0x200, true
		case 0x2000:
			return "mod_fn [kvm]", 0, 0x20, true
		}
		return "", 0, 0, false
	}}
	f := func(format string, addr uint64, want string) {
		t.Helper()
		s := parsePieces(format)[0].spec
		if kindOf(s.ext) != byAddress {
			t.Errorf("%s: not recognised as an address", format)
		}
		if got := string(s.appendAddress(nil, addr, o)); got != want {
			t.Errorf("%s of %#x: got %q, want %q", format, addr, got, want)
		}
	}
	f("%p", 0xffff888001234567, "ffff888001234567")
	f("%p", 0, "0000000000000000")
	f("%px", 0x1234, "0000000000001234")
	f("%#p", 0x1234, "0x0000000000001234")
	f("%5p", 0x12, "   12")
	f("%pS", 0x1010, "do_work+0x10/0x200")
	f("%pB", 0x1010, "do_work+0x10/0x200")
	f("%ps", 0x1010, "do_work")
	f("%pF", 0x1010, "do_work+0x10/0x200")
	f("%pf", 0x1010, "do_work")
	f("%pS", 0x2000, "mod_fn+0x0/0x20 [kvm]")
	f("%ps", 0x2000, "mod_fn [kvm]")
	f("%pS", 0xdead, "0xdead")
	f("%-10ps", 0x1010, "do_work   ")
	f("%pe", ^uint64(1), "-ENOENT")
	f("%pe", 0x1010, "0000000000001010")
}
