package tracefs

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"ppscript/runtime/event"
)

const sample = `name: sample
ID: 372
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char comm[16];	offset:8;	size:16;	signed:0;
	field:long state;	offset:24;	size:8;	signed:1;
	field:enum lru_list lru;	offset:32;	size:4;	signed:0;
	field:const void * ptr;	offset:40;	size:8;	signed:0;
	field:bool ok;	offset:48;	size:1;	signed:0;
	field:__u8 saddr[16];	offset:49;	size:16;	signed:0;
	field:unsigned long args[6];	offset:72;	size:48;	signed:0;
	field:__data_loc char[] file;	offset:120;	size:4;	signed:0;
	field:__data_loc u8[] buf;	offset:124;	size:4;	signed:0;
	field:__rel_loc int[] list;	offset:128;	size:4;	signed:1;
	field:__data_loc cpumask_t cpus;	offset:132;	size:4;	signed:0;
	field:__data_loc unsigned long[] mask;	offset:136;	size:4;	signed:0;
	field:__data_loc unsigned long[] stack;	offset:140;	size:4;	signed:0;
	field:struct timespec64 ts;	offset:144;	size:16;	signed:0;
	field:struct qstr name;	offset:160;	size:8;	signed:0;
	field:char old[TASK_COMM_LEN];	offset:168;	size:16;	signed:1;
	field:u32 words[NR];	offset:184;	size:40;	signed:0;
	field:__data_loc struct item[] items;	offset:224;	size:4;	signed:0;

print fmt: "mask=%s
more", __get_bitmask(mask)
`

func TestParseFormatClassifiesEveryKindOfField(t *testing.T) {
	s, err := ParseFormat("test", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if s.FullName() != "test:sample" || s.ID != 372 || s.Type != 2 || s.Size != 228 {
		t.Errorf("got %s id %d type %d size %d, want test:sample 372 2 228", s.FullName(),
			s.ID, s.Type, s.Size)
	}
	if want := "\"mask=%s\nmore\", __get_bitmask(mask)"; s.PrintFmt != want {
		t.Errorf("print fmt: got %q, want %q", s.PrintFmt, want)
	}
	want := []event.Field{
		{Name: "common_type", Type: "unsigned short", Kind: event.Int, Offset: 0, Size: 2},
		{Name: "common_pid", Type: "int", Kind: event.Int, Offset: 4, Size: 4, Signed: true},
		{Name: "comm", Type: "char[16]", Kind: event.Str, Offset: 8, Size: 16},
		{Name: "state", Type: "long", Kind: event.Int, Offset: 24, Size: 8, Signed: true},
		{Name: "lru", Type: "enum lru_list", Kind: event.Int, Offset: 32, Size: 4},
		{Name: "ptr", Type: "const void *", Kind: event.Int, Unit: event.AddressU, Offset: 40, Size: 8},
		{Name: "ok", Type: "bool", Kind: event.Int, Offset: 48, Size: 1},
		{Name: "saddr", Type: "__u8[16]", Kind: event.Array, Offset: 49, Size: 16, Elem: 1},
		{Name: "args", Type: "unsigned long[6]", Kind: event.Array, Offset: 72, Size: 48, Elem: 8},
		{Name: "file", Type: "__data_loc char[]", Kind: event.Str, Place: event.DataLoc, Offset: 120, Size: 4},
		{Name: "buf", Type: "__data_loc u8[]", Kind: event.Array, Place: event.DataLoc, Offset: 124, Size: 4, Elem: 1},
		{Name: "list", Type: "__rel_loc int[]", Kind: event.Array, Place: event.RelLoc, Signed: true, Offset: 128, Size: 4, Elem: 4},
		{Name: "cpus", Type: "__data_loc cpumask_t", Kind: event.Bitmask, Place: event.DataLoc, Offset: 132, Size: 4, Elem: 8},
		{Name: "mask", Type: "__data_loc unsigned long[]", Kind: event.Bitmask, Place: event.DataLoc, Offset: 136, Size: 4, Elem: 8},
		{Name: "stack", Type: "__data_loc unsigned long[]", Kind: event.Array, Place: event.DataLoc, Offset: 140, Size: 4, Elem: 8},
		{Name: "ts", Type: "struct timespec64", Kind: event.Bytes, Offset: 144, Size: 16},
		{Name: "name", Type: "struct qstr", Kind: event.Bytes, Offset: 160, Size: 8},
		{Name: "old", Type: "char[TASK_COMM_LEN]", Kind: event.Str, Signed: true, Offset: 168, Size: 16},
		{Name: "words", Type: "u32[NR]", Kind: event.Array, Offset: 184, Size: 40, Elem: 4},
		{Name: "items", Type: "__data_loc struct item[]", Kind: event.Bytes, Place: event.DataLoc, Offset: 224, Size: 4},
	}
	if len(s.Fields) != len(want) {
		t.Fatalf("got %d fields, want %d", len(s.Fields), len(want))
	}
	for i, f := range s.Fields {
		f.Shown = nil // of the print fmt
		if !reflect.DeepEqual(f, want[i]) {
			t.Errorf("field %d:\n got %+v\nwant %+v", i, f, want[i])
		}
	}
}

func TestParseFormatRefusesDamage(t *testing.T) {
	f := func(old, new string) {
		t.Helper()
		damaged := bytes.Replace([]byte(sample), []byte(old), []byte(new), 1)
		if _, err := ParseFormat("test", damaged); err == nil {
			t.Errorf("%q instead of %q: got no error", new, old)
		}
	}
	f("name: sample", "")
	f("ID: 372", "")
	f("ID: 372", "ID: x")
	f("offset:8;", "")
	f("offset:8;", "offset:-8;")
	f("offset:8;", "offset:99999999999999999999;")
	f("size:16;", "size:1e9;")
	f("field:long state;", "field:;")
}

// A field that is not understood is its bytes, and leaves the others alone.
func TestOddFields(t *testing.T) {
	s, err := ParseFormat("test", []byte("name: odd\nID: 7\nformat:\n"+
		"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"+
		"\tfield:__data_loc char[][2] v;\toffset:16;\tsize:8;\tsigned:1;\n"+
		"\tfield:__rel_loc char[] w;\toffset:24;\tsize:2;\tsigned:1;\n"+
		"\tfield:int n[2][3];\toffset:28;\tsize:24;\tsigned:1;\n"+
		"\tfield:int after;\toffset:52;\tsize:4;\tsigned:1;\n\n"+
		`print fmt: "(%lx) v={\"%s\",\"%s\"}", REC->__probe_ip, __get_str(v[0]), __get_str(v[1])`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []event.Field{
		{Name: "__probe_ip", Type: "unsigned long", Kind: event.Int, Offset: 8, Size: 8},
		{Name: "v", Type: "__data_loc char[][2]", Kind: event.Bytes, Offset: 16, Size: 8, Signed: true},
		{Name: "w", Type: "__rel_loc char[]", Kind: event.Bytes, Offset: 24, Size: 2, Signed: true},
		{Name: "n", Type: "int[2][3]", Kind: event.Array, Offset: 28, Size: 24, Elem: 4, Signed: true},
		{Name: "after", Type: "int", Kind: event.Int, Offset: 52, Size: 4, Signed: true},
	}
	raw := make([]byte, 56)
	raw[8], raw[52] = 0x10, 5
	for i, f := range s.Fields {
		f.Shown = nil
		if !reflect.DeepEqual(f, want[i]) {
			t.Errorf("field %d:\n got %+v\nwant %+v", i, f, want[i])
		}
	}
	text := string(s.Text(nil, &event.Event{Raw: raw, Stream: &event.Stream{Schema: s}}))
	if !strings.Contains(text, "after=5") {
		t.Errorf("got text %q, want all fields", text)
	}
}

func FuzzParseFormat(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(
		"name: x\nID: 1\nformat:\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n\nprint fmt: \"%d\", REC->a\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseFormat("fuzz", text)
		if (s == nil) == (err == nil) {
			t.Fatalf("schema %v with error %v", s, err)
		}
		if err != nil {
			return
		}
		ev := event.Event{Raw: make([]byte, 64)}
		for i := range s.Fields {
			fl := &s.Fields[i]
			if fl.Name == "" || fl.Offset+fl.Size > s.Size {
				t.Fatalf("bad field %+v in a schema of %d bytes", fl, s.Size)
			}
			fl.Value(&ev)
		}
	})
}
