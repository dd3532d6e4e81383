package tracefs

import (
	"encoding/binary"
	"strings"
	"testing"

	"ppscript/runtime/event"
)

// schemaOf makes a schema of fields ("int a", "char s[8]", "__data_loc char[]
// d", each aligned) and a print fmt.
func schemaOf(t testing.TB, o *Options, printFmt string, fields ...string) *event.Schema {
	t.Helper()
	sizes := map[string]int{
		"int":          4,
		"unsigned int": 4,
		"u8":           1,
		"u16":          2,
		"s8":           1,
		"long":         8,
		"u64":          8,
		"void *":       8,
		"const char *": 8,
	}
	var b strings.Builder
	b.WriteString("name: ev\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n")
	b.WriteString("\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n")
	off := 8
	for _, decl := range fields {
		typ, _, dims, array := splitDecl(decl)
		size := sizes[typ]
		each := size
		switch {
		case strings.HasPrefix(typ, "__data_loc") || strings.HasPrefix(typ, "__rel_loc"):
			size, each = 4, 4
		case array:
			if each = elemSize(typ); each == 0 {
				t.Fatalf("%s: unknown size", decl)
			}
			n := 0
			for _, c := range dims {
				n = n*10 + int(c-'0')
			}
			size = each * n
		}
		if size == 0 {
			t.Fatalf("%s: unknown size", decl)
		}
		off = (off + each - 1) / each * each
		signed := "0"
		if typ == "int" || typ == "long" || typ == "s8" {
			signed = "1"
		}
		b.WriteString("\tfield:" + decl + ";\toffset:" + itoa(off) + ";\tsize:" + itoa(size) + ";\tsigned:" +
			signed + ";\n")
		off += size
	}
	b.WriteString("\nprint fmt: " + printFmt + "\n")
	s, err := o.parseFormat("test", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func itoa(n int) string { return string(appendInt(n)) }

func appendInt(n int) []byte {
	s := spec{width: -1, prec: -1}
	return s.appendNumber(nil, uint64(n), 10, 0, false)
}

// record fills a record of a schema: numbers into integer fields, texts and
// bytes into arrays and dynamic fields.
func record(t testing.TB, s *event.Schema, values map[string]any) *event.Event {
	t.Helper()
	raw := make([]byte, (s.Size+7)&^7)
	for name, v := range values {
		f, ok := s.Field(name)
		if !ok || f.Place == event.InMember {
			t.Fatalf("no field %s", name)
		}
		var data []byte
		switch v := v.(type) {
		case int:
			data = binary.LittleEndian.AppendUint64(nil, uint64(v))[:f.Size]
		case string:
			data = append([]byte(v), 0)
		case []byte:
			data = v
		}
		switch f.Place {
		case event.InRaw:
			copy(raw[f.Offset:f.Offset+f.Size], data)
		case event.DataLoc:
			binary.LittleEndian.PutUint32(raw[f.Offset:], uint32(len(data)<<16|len(raw)))
			raw = append(raw, data...)
		case event.RelLoc:
			binary.LittleEndian.PutUint32(raw[f.Offset:], uint32(len(data)<<16|(len(raw)-f.Offset-4)))
			raw = append(raw, data...)
		}
	}
	return &event.Event{Raw: raw}
}

func TestText(t *testing.T) {
	o := &Options{
		HZ:      250,
		Ksym:    func(a uint64) (string, uint64, uint64, bool) { return "fn", a & 0xf, 0x40, a>>8 == 0x12 },
		Strings: func(a uint64) (string, bool) { return "constant", a == 0x5000 },
		Enums: func([]string) map[string]int64 {
			return map[string]int64{"STATE_ON": 1, "FLAG_B": 2}
		},
	}
	f := func(want, printFmt string, fields string, values map[string]any) {
		t.Helper()
		s := schemaOf(t, o, printFmt, strings.Split(fields, "; ")...)
		if got := string(s.Text([]byte("> "), record(t, s, values))); got != "> "+want {
			t.Errorf("%s\n got %s\nwant > %s\n(%v)", printFmt, got, want, newPrinter(s, o).reason)
		}
	}
	type v = map[string]any
	// Numbers: promotion, truncation, stars.
	f("a=-5 b=ff c=00042", `"a=%d b=%x c=%05u", REC->a, REC->b, REC->c`, "int a; u8 b; u16 c",
		v{"a": -5, "b": 255, "c": 42})
	f("ffffffff 18446744073709551615", `"%x %lu", REC->a, (unsigned long)REC->a`, "s8 a", v{"a": -1})
	f("[   7][7   ][007]", `"[%*d][%-*d][%.*d]", 4, REC->a, 4, REC->a, 3, REC->a`, "int a", v{"a": 7})
	f("c=R 100%", `"c=%c 100%%", REC->a ? 'R' : 'W'`, "int a", v{"a": 1})
	f("R", `"%c", "WR"[REC->a]`, "int a", v{"a": 1})
	f("dev 8,17", `"dev %u,%u", ((unsigned int) ((REC->a) >> 20)), ((unsigned int) ((REC->a) & ((1U << 20) - 1)))`,
		"unsigned int a", v{"a": 8<<20 | 17})
	f("pid 9 type 3", `"pid %d type %d", REC->ent.pid, REC->ent.type`, "int a",
		v{"common_pid": 9, "common_type": 3})
	// Texts.
	f("bash|bash    |ba", `"%s|%-8s|%.*s", REC->s, REC->s, 2, REC->s`, "char s[16]", v{"s": "bash"})
	f("file=a.txt len=6", `"file=%s len=%d", __get_str(f), __get_dynamic_array_len(f)`, "__data_loc char[] f",
		v{"f": "a.txt"})
	f("file=a.txt", `"file=%s", __get_rel_str(f)`, "int a; __rel_loc char[] f", v{"f": "a.txt"})
	f("a: yes", `"a%s%s", __get_str(f)[0] ? ": " : "", __get_str(f)`, "__data_loc char[] f", v{"f": "yes"})
	f("a", `"a%s%s", __get_str(f)[0] ? ": " : "", __get_str(f)`, "__data_loc char[] f", v{"f": ""})
	f("(null) constant 0xffff888000001000", `"%s %s %s", REC->a, REC->b, REC->c`,
		"const char * a; const char * b; const char * c", v{"b": 0x5000, "c": -0x777ffffff000})
	f("(null)", `"%s", REC->n ? __get_str(f) : ((void *)0)`, "int n; __data_loc char[] f", v{"f": "x"})
	f("text", `"%s", (char *)REC->s`, "char s[8]", v{"s": "text"})
	// Helpers.
	f("on 0x5", `"%s %s", __print_symbolic(REC->a, { STATE_ON, "on" }, { 0, "" }), __print_symbolic(REC->b, { STATE_ON, "on" })`,
		"int a; int b", v{"a": 1, "b": 5})
	f("0x0", `"%s", __print_symbolic(REC->a, { 0, "" })`, "int a", nil)
	f("A|B|0x30 - R", `"%s %s %s", __print_flags(REC->a, "|", { 1UL, "A" }, { FLAG_B, "B" }, { NO_SUCH, "C" }), "-", REC->b ? __print_flags(REC->b, "|", { 1, "x" }) : "R"`,
		"int a; int b", v{"a": 0x33})
	f("none+0xffffffffffffffff", `"%s", __print_flags(REC->a, "+", { 0, "none" })`, "int a", v{"a": -1})
	f("01 02 03/010203", `"%s/%s", __print_hex(REC->a, REC->n), __print_hex_str(REC->a, REC->n)`, "u8 a[6]; int n",
		v{"a": []byte{1, 2, 3, 4}, "n": 3})
	f("{0x1,0x2} {0x201}", `"%s %s", __print_array(__get_dynamic_array(d), __get_dynamic_array_len(d) / sizeof(u8), sizeof(u8)), __print_dynamic_array(d, 2)`,
		"__data_loc u8[] d", v{"d": []byte{1, 2}})
	f("mask=00000001,0000000f", `"mask=%s", __get_bitmask(m)`, "__data_loc unsigned long[] m",
		v{"m": []byte{15, 0, 0, 0, 1, 0, 0, 0}})
	f("mask=00000001,0000000f", `"mask=%s", __get_cpumask(m)`, "__data_loc cpumask_t m",
		v{"m": []byte{15, 0, 0, 0, 1, 0, 0, 0}})
	f("0-3,32", `"%*pbl", 64, REC->m`, "unsigned long m[1]", v{"m": []byte{15, 0, 0, 0, 1, 0, 0, 0}})
	f("1.000000002", `"%llu.%09u", __print_ns_to_secs(REC->a), (u32)__print_ns_without_secs(REC->a)`, "u64 a",
		v{"a": 1000000002})
	f("40", `"%u", jiffies_to_msecs(REC->a)`, "u64 a", v{"a": 10})
	f("Fatal error", `"%s error", mc_event_error_type(REC->a)`, "int a", v{"a": 3})
	f("disk=nvme0n1, qid", `"%sqid", nvme_trace_disk_name(p, REC->s)`, "char s[16]", v{"s": "nvme0n1"})
	f("\n00000000: 0a 0b\n", `"%s", __print_hex_dump("", 2, 16, 1, __get_dynamic_array(d), __get_dynamic_array_len(d), false)`,
		"__data_loc u8[] d", v{"d": []byte{10, 11}})
	f("2/9", `"%d/%d", ({ int x = (REC->a); int y = (2); ((x) < (y) ? (x) : (y)); }), REC->a`, "int a",
		v{"a": 9})
	f("0", `"%ld", __builtin_expect(!!(REC->a), 0) ? 1 : 0`, "int a", nil)
	// Pointers.
	f("fn+0x4/0x40 fn 0x1 0000000000001234", `"%pS %ps %pS %p", REC->a, (void *)REC->a, (void *)1, REC->a`,
		"void * a", v{"a": 0x1234})
	f("10.0.0.1 ::1 02:03:04:05:06:07", `"%pI4 %pI6c %pM", REC->a, REC->b, REC->c`, "u8 a[4]; u8 b[16]; u8 c[6]",
		v{"a": []byte{10, 0, 0, 1}, "b": []byte{15: 1}, "c": []byte{2, 3, 4, 5, 6, 7}})
	f("127.0.0.1:80", `"%pISpc", REC->a`, "u8 a[28]", v{"a": []byte{2, 0, 0, 80, 127, 0, 0, 1}})
	f("127.0.0.1:80", `"%pISpc", __get_sockaddr(a)`, "__data_loc u8[] a",
		v{"a": []byte{2, 0, 0, 80, 127, 0, 0, 1}})
	f("00010203-0405-0607-0809-0a0b0c0d0e0f", `"%pUb", &REC->u`, "u8 u[16]",
		v{"u": []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}})
	f("0x[01-02]", `"0x[%*phD]", (int) REC->n, __get_dynamic_array(d)`, "long n; __data_loc u8[] d",
		v{"n": 2, "d": []byte{1, 2}})
	// Values that cannot be known.
	f("page=? pfn=5", `"page=%p pfn=%lx", (((struct page *)vmemmap_base) + (REC->a)), REC->a`, "u64 a",
		v{"a": 5})
	f("d=? a=5", `"d=%pd a=%ld", REC->a, REC->a`, "u64 a", v{"a": 5})
	f("a=5 p=0x10 s=x m=0-1 b={0x7} h={0x3,0x0}", `"%s", scsi_trace_parse_cdb(p, REC->a)`,
		"u64 a; void * p; char s[4]; __data_loc cpumask_t m; __data_loc u8[] b; u16 h[2]",
		v{
			"a": 5,
			"p": 16,
			"s": "x",
			"m": []byte{3, 0, 0, 0, 0, 0, 0, 0},
			"b": []byte{7},
			"h": []byte{3, 0, 0, 0},
		})
	f("a=5", `"broken %d`, "u64 a", v{"a": 5})
	f("5 ?", `"%ld %ld", REC->a`, "u64 a", v{"a": 5})
}

func TestTextOfDamagedRecords(t *testing.T) {
	s := schemaOf(t, new(Options),
		`"a=%d f=%s g=%s", REC->a, __get_str(f), __print_hex(__get_dynamic_array(f), 4)`,
		"int a", "__data_loc char[] f")
	f := func(raw []byte, want string) {
		t.Helper()
		if got := string(s.Text(nil, &event.Event{Raw: raw})); got != want {
			t.Errorf("%x: got %q, want %q", raw, got, want)
		}
	}
	head := make([]byte, 8)
	f(nil, "a=? f=? g=?")
	f(append(head, 1, 0, 0, 0), "a=1 f=? g=?")
	f(append(head, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff), "a=1 f=? g=?")
	f(append(head, 1, 0, 0, 0, 16, 0, 2, 0, 'x', 0), "a=1 f=x g=?")
	f(append(head, 1, 0, 0, 0, 16, 0, 4, 0, 'x', 0, 1, 2), "a=1 f=x g=78 00 01 02")
}

func TestTextAllocatesNothing(t *testing.T) {
	f := live(t)
	for _, name := range []string{
		"sched:sched_switch", "sched:sched_wakeup", "raw_syscalls:sys_enter", "irq:irq_handler_entry",
		"syscalls:sys_enter_openat", "kmem:mm_page_alloc", "tcp:tcp_probe", "block:block_rq_issue", "kvm:kvm_exit",
	} {
		s, err := f.Schema(split(t, name))
		if err != nil {
			t.Logf("%v", err)
			continue
		}
		ev := &event.Event{Raw: make([]byte, s.Size+64)}
		for i := range ev.Raw {
			ev.Raw[i] = byte(i)
		}
		buf := s.Text(make([]byte, 0, 4096), ev)
		if n := testing.AllocsPerRun(100, func() { buf = s.Text(buf[:0], ev) }); n != 0 {
			t.Errorf("%s: got %v allocations for an event, want 0", name, n)
		}
	}
}

func BenchmarkText(b *testing.B) {
	f := live(b)
	for _, name := range []string{"sched:sched_switch", "raw_syscalls:sys_enter", "irq:irq_handler_entry"} {
		b.Run(name, func(b *testing.B) {
			s, err := f.Schema(split(b, name))
			if err != nil {
				b.Fatal(err)
			}
			ev := &event.Event{Raw: make([]byte, s.Size+64)}
			buf := s.Text(nil, ev)
			b.ReportAllocs()
			for b.Loop() {
				buf = s.Text(buf[:0], ev)
			}
		})
	}
}

// BenchmarkBuild is the first use of a printer.
func BenchmarkBuild(b *testing.B) {
	f := live(b)
	for _, name := range []string{"sched:sched_switch", "kvm:kvm_exit", "kmem:mm_page_alloc"} {
		b.Run(name, func(b *testing.B) {
			s, err := f.Schema(split(b, name))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				newPrinter(s, f.Options)
			}
		})
	}
}
