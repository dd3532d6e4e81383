package cexpr

import (
	"errors"
	"strings"
	"testing"

	. "ppscript/runtime/expr"
	"ppscript/runtime/text/diag"
)

// eval runs an expression and gives its value as text.
func eval(t *testing.T, src string, f *Frame) string {
	t.Helper()
	p, err := Compile(src, testScope())
	if err != nil {
		t.Errorf("%s: %v", src, err)
		return ""
	}
	v := p.Value(f)
	return v.String()
}

func TestC(t *testing.T) {
	e := testEvent()
	f := func(src, want string) {
		t.Helper()
		var fr Frame
		fr.Reset(e)
		got := eval(t, src, &fr)
		if fr.Err != nil {
			t.Errorf("%s: error %v", src, fr.Err)
		} else if got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
	// Arithmetic and conversions.
	f("(char)300", "44")
	f("(unsigned char)-1", "255")
	f("(bool)256", "1")
	f("1<<64", "1")
	f("1<<40", "1099511627776")
	f("-1>>40", "-1")
	f("i32 << 40", "-3298534883328")
	f("1L<<64", "1")
	f("1<<31", "-2147483648")
	f("2147483647+1", "-2147483648")
	f("4294967295+1", "4294967296")
	f("0xffffffff+1", "0")
	f("-1 < 1u", "0")
	f("-1L < 1u", "1")
	f("-1 >> 1", "-1")
	f("-1u >> 1", "2147483647")
	f("-7 / 2", "-3")
	f("-7 % 3", "-1")
	f("7u / -1", "0")
	f("~0", "-1")
	f("~0u", "4294967295")
	f("!5", "0")
	f("5 && 7", "1")
	f("0 || 8", "1")
	f("1 ? -1 : 1u", "4294967295")
	f("1, 2", "2")
	f("sizeof(int) + sizeof(char *) + sizeof 1L", "20")
	f("-1 == 0xffffffff", "1")
	f("-1 == 0xffffffffffffffff", "1")
	f("'a' + 1", "98")
	f("0 ?: 5", "5")
	f("n8++ ?: 5", "255")
	f("(n8 += 1) ?: 7", "7")
	f("(i8 ?: -2) ?: 3u", "4294967295")
	f(`comm ?: "none"`, "bash")
	f("ntohs(ntohs(n16))", "65534")
	// Fields.
	f("i8", "-1")
	f("n8", "255")
	f("i16", "-2")
	f("n16", "65534")
	f("flag", "1")
	f("i32", "-3")
	f("n32", "4294967293")
	f("i64", "-4")
	f("n64", "18446744073709551612")
	f("common_pid", "1234")
	f("_cpu", "3")
	f("_pid", "100")
	f("tid", "101")
	f("TEN", "10")
	f("i32 == n32", "1")
	f("i16 == n16", "0")
	f("i32 < 0", "1")
	f("n32 > 0", "1")
	f("n32 == -3", "1")
	f("n64 > 5", "1")
	f("i64 > n64", "0")
	f("n8 + n8", "510")
	f("n16 * n16", "-262140") // int overflow wraps
	f("(short)n16", "-2")
	f("n32 << 1", "4294967290")
	f("i32 >> 1", "-2")
	f("n32 >> 1", "2147483646")
	f("REC->i32 + REC->n8", "252")
	// Text.
	f(`comm`, "bash")
	f(`comm == "bash"`, "1")
	f(`"bash" == comm`, "1")
	f(`comm != "bash"`, "0")
	f(`comm == "bas"`, "0")
	f(`comm ~ "*sh"`, "1")
	f(`comm ~ "b[a-c]?h"`, "1")
	f(`full == "full"`, "1")
	f(`filename`, "/etc/passwd")
	f(`filename == "/etc/passwd"`, "1")
	f(`rel`, "relative")
	f(`filename_len`, "12")
	f(`filename_offset`, "96")
	f(`(char *)&common_type + filename_offset`, "/etc/passwd")
	f(`(char *)&common_type + filename_offset == "/etc/passwd"`, "1")
	f(`filename ~ "/etc/*"`, "1")
	f(`comm[1]`, "97")
	f(`filename[0] == '/'`, "1")
	f(`*comm == 'b'`, "1")
	f(`"abc"[1]`, "98")
	f(`"abc"[3]`, "0")
	f(`_comm`, "thread")
	f(`flag ? comm : "no"`, "bash")
	f(`strncmp(comm, "basket", 3)`, "0")
	f(`strncmp(comm, "basket", 4)`, "-1")
	f(`strlen(comm)`, "4")
	f(`!comm`, "0")
	// Memory.
	f("ints[0] + ints[1]", "30")
	f("longs[1]", "1099511627776")
	f("*(int *)&i32", "-3")
	f("*(unsigned short *)((char *)&i32 + 2)", "65535")
	f("&i32 - &common_pid", "3")
	f("*(&i32 + 1)", "-3")
	f("sizeof(ints)/sizeof(ints[0])", "2")
	f("ptr == 0", "0")
	f("ptr", "18446744071578845184")
	f("*(u8 *)__get_dynamic_array(filename)", "47")
	// Assignment.
	f("i32 = 5, i32 * 2", "10")
	f("i32++ + i32", "-5")
	f("++i32", "-2")
	f("n8 += 1, n8", "0")
	f("n8++", "255")
	f(`comm = "x", comm`, "x")
	f("({ int a = 3; long b = a * 2; a = b + 1; a; })", "7")
	f("({ __auto_type x = n8; x++; x; })", "0")
	f("({ int x = 1; ({ int x = 2; x; }) + x; })", "3")
	// Builtins.
	f("ntohl(0x01020304)", "67305985")
	f("ntohs(0x0102)", "513")
	f("ksymbol(ptr)", "_text")
	f("ksymbol_offset(ptr)", "_text+0x0")
	f("comm_get(common_pid)", "init")
	f("syscall_name(0)", "read")
	f("exit_reason_str(1, 12)", "HLT")
	f(`system("exit %d", 3)`, "1536")
	f(`__print_symbolic(TEN, {1, "one"}, {10, "ten"})`, "ten")
	f(`__print_symbolic(i8, {1, "one"})`, "0xffffffffffffffff")
	f(`__print_flags(TEN, "|", {2, "two"}, {8, "eight"})`, "two|eight")
	f(`__print_flags(TEN, "|", {2, "two"})`, "two|0x8")
	f(`__print_flags(TEN, "|", {4, "four"})`, "0xa")
	f(`__print_flags(0, "|", {0, "none"})`, "")
	f(`__print_flags(3, "|", {1, "a"}, { 0, ((void *)0) })`, "a|0x2")
	f(`__print_symbolic(3, { })`, "0x3")
	f("__get_str(filename)", "/etc/passwd")
	f("__get_dynamic_array_len(longs) / sizeof(u64)", "2")
	f("__print_array(__get_dynamic_array(longs), 2, 8)", "{0x7,0x10000000000}")
	f("__print_hex(ints, 5)", "0a 00 00 00 14")
	f("__print_hex_str(&ints, 4)", "0a000000")
	f("__get_cpumask(mask)", "00000001,0000008f")
	f("__get_bitmask(mask)", "00000001,0000008f")
}

func TestPrintf(t *testing.T) {
	e := testEvent()
	f := func(src, want string) {
		t.Helper()
		var out strings.Builder
		fr := Frame{Out: &out}
		fr.Reset(e)
		n := eval(t, src, &fr)
		if fr.Err != nil || out.String() != want {
			t.Errorf("%s: got %q (%v), want %q", src, out.String(), fr.Err, want)
		}
		if len(want) < 10 && n != string(rune('0'+len(want))) {
			t.Errorf("%s: returned %s, want %d", src, n, len(want))
		}
	}
	f(`printf("%d %u\n", i32, i32)`, "-3 4294967293\n")
	f(`printf("%ld", i64)`, "-4")
	f(`printf("%d", 4294967296)`, "0")
	f(`printf("%5d|%-5d|%05d", 42, 42, -42)`, "   42|42   |-0042")
	f(`printf("%s.%.2s.%6s", comm, comm, comm)`, "bash.ba.  bash")
	f(`printf("%x %#x %X %#o", 255, 255, 255, 8)`, "ff 0xff FF 010")
	f(`printf("%c%c%%", 'o', 'k')`, "ok%")
	f(`printf("%hhd %hu", 300, -1)`, "44 65535")
	f(`printf("%10=|%-5=|%5%|%=%d|% =|%08=|%.3=|%+,", 7)`, "%10=|%-5=|%|%=7|% =|%08=|%.3=|%+,") // as glibc
	f(`printf("%.3d %+d", 7, 7)`, "007 +7")
	f(`printf("%12x", ptr)`, "    81000000")
}

func TestCErrors(t *testing.T) {
	f := func(src string, col int, want, hint string) {
		t.Helper()
		sc := testScope()
		sc.Services = Services{}
		p, err := Compile(src, sc)
		var e *diag.Error
		if !errors.As(err, &e) || p != nil {
			t.Errorf("%s: got %v, want an error with %q", src, err, want)
			return
		}
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%s: got %q, want %q", src, e.Error(), want)
		}
		if !strings.Contains(diag.HintOf(err), hint) {
			t.Errorf("%s: got hint %q, want %q", src, diag.HintOf(err), hint)
		}
		lines := strings.Split(e.Excerpt, "\n")
		if got := len(lines[len(lines)-1]) - 4; got != col {
			t.Errorf("%s: caret in column %d, want %d", src, got, col)
		}
	}
	f("1 + com", 5, "unknown variable com (did you mean comm?)", "common_pid")
	f("REC->filenam", 6, "did you mean filename?", "use one of")
	f("ksymbl(1)", 1, "did you mean ksymbol?", "printf")
	f("ksymbol(1)", 1, "not available", "")
	f(`system("x")`, 1, "not allowed", "")
	f("strncmp(comm, 1)", 1, "got 2 arguments, want 3", "strncmp(a, b, n)")
	f(`printf("%d", "x")`, 14, "this is a text; use %s", "")
	f(`printf("%s", 5)`, 14, "want a text", "")
	f(`printf("%s %s", comm)`, 8, "no argument for conversion 2", "")
	f(`printf("%d", 1, 2)`, 17, "no conversion", "")
	f(`printf("%f", 1)`, 8, "unknown conversion %f", "")
	f(`printf("%10")`, 8, "the format ends inside a conversion", "")
	f(`printf(comm)`, 8, "string literal", "")
	f(`comm ~ 3`, 8, "want a text", "")
	f(`"a" + "b"`, 1, "text is used as a number", "compare texts with ==")
	f(`comm == "x"+1`, 9, "text is used as a number", "compare texts with ==")
	f("(foo_t)1", 1, "unknown type foo_t", "")
	f("*i32", 2, "want a pointer", "")
	f("*ptr", 2, "void", "")
	f("&1", 2, "no address", "")
	f("1 = 2", 1, "only variables", "")
	f("TEN = 1", 1, "", "")
}

func TestEvaluationErrors(t *testing.T) {
	e := testEvent()
	f := func(src string, want error) {
		t.Helper()
		p, err := Compile(src, testScope())
		if err != nil {
			t.Errorf("%s: %v", src, err)
			return
		}
		var fr Frame
		fr.Reset(e)
		if p.Value(&fr); !errors.Is(fr.Err, want) {
			t.Errorf("%s: got %v, want %v", src, fr.Err, want)
		}
	}
	f("1/0", ErrDivide)
	f("i32 % (i32+3)", ErrDivide)
	f("(-9223372036854775807-1) / -1", ErrOverflow)
	f("*(int*)0", ErrPointer)
	f("*(int*)ptr", ErrPointer)
	f(`(char *)5 == "x"`, ErrPointer)
	f("ints[10000000]", ErrPointer)
	f("ints[-100]", ErrPointer)
	f(`comm_get(1/0)`, ErrDivide)
	// A record that ends too early.
	e.Raw = e.Raw[:20]
	f("n64", ErrShort)
	f("n32 == 3", ErrShort)
	f("i32 == -3 && n32 == 4", ErrShort)
	f("comm", ErrShort)
	f("filename", ErrShort)
	f("filename_len", ErrShort)
	f("i32", nil)
}

func TestCasts(t *testing.T) {
	e := testEvent()
	f := func(src, want string) {
		t.Helper()
		var fr Frame
		fr.Reset(e)
		if got := eval(t, src, &fr); got != want || fr.Err != nil {
			t.Errorf("%s: got %s (%v), want %s", src, got, fr.Err, want)
		}
	}
	f("(void)i32, 5", "5")
	f("(unsigned long)ptr >> 32", "4294967295")
	f("(long)ptr < 0", "1")
	f("ptr > (void *)5", "1")
	f("(typeof(n8))300", "44")
	f("((int *)&i32)[1]", "-3")
	f("*((unsigned char *)&i32 + 3)", "255")
	f("(char *)comm == \"bash\"", "1")
	f("((char *)&comm)[0]", "98")
	f("sizeof(int[3])", "12")
	f("sizeof(void *)", "8")
	f("sizeof(enum x)", "4")
	f("sizeof(comm)", "16")
	f("&ints[1] == &ints[0] + 1", "1")
	f("1 + ints == &ints[1]", "1")
	f("&ints[1] - 1 == ints", "1")
	f("flag ? &i32 : 0", "9079256848778919952")
	f("*(flag ? &i32 : 0)", "-3")
	f("flag ? comm : 0", "bash")
	f("!flag ? comm : 0", "(null)")
	var fr Frame
	fr.Reset(e)
	p, err := Compile("(void *)&ints", testScope())
	if err != nil {
		t.Fatal(err)
	}
	if b := fr.Memory(p.Int(&fr)); len(b) != len(e.Raw)-72 || b[0] != 10 {
		t.Errorf("memory at &ints: got %d bytes", len(b))
	}
	if b := fr.Memory(5); b != nil || !errors.Is(fr.Err, ErrPointer) {
		t.Errorf("memory at 5: got %v (%v)", b, fr.Err)
	}
}
