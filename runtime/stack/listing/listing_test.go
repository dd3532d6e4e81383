package listing

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/result"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// A code is machine code at 0x1000, whose lines and functions are those of tests.
func code(machine elf.Machine, bytes ...byte) symbol.Code {
	return symbol.Code{Addr: 0x1000, Bytes: bytes, Machine: machine,
		Line: func(addr uint64) (string, int) { return "/src/a/hot.c", 5 + int(addr-0x1000)/4 },
		Name: func(addr uint64) (string, uint64) {
			switch {
			case addr >= 0x2000 && addr < 0x2100:
				return "helper", 0x2000
			case addr >= 0x1000 && addr < 0x1100:
				return "own", 0x1000
			}
			return "", 0
		}}
}

// TestDisassemble checks that instructions are told as the GNU assembler writes them, targets by
// name; what is no instruction is told as bytes, and the next one is found again.
func TestDisassemble(t *testing.T) {
	for _, test := range []struct {
		name    string
		machine elf.Machine
		code    []byte
		want    []string
	}{
		{"x86", elf.EM_X86_64, []byte{
			0xf3, 0x0f, 0x1e, 0xfa, // the library takes f3 for a prefix
			0xc5, 0xfd, 0x6f, 0x06,
			0xe8, 0xf3, 0x0f, 0x00, 0x00,
			0xe8, 0xfe, 0x0f, 0x00, 0x00,
			0x74, 0xec,
			0x06, // none in 64 bits
			0xc3,
		}, []string{"1000 endbr64", "1004 vmovdqa (%rsi),%ymm0", "1008 callq 0x2000 <helper>",
			"100d callq 0x2010 <helper+0x10>", "1012 je 0x1000", "1014 .byte 0x06", "1015 retq"}},
		{"arm64", elf.EM_AARCH64, []byte{
			0x1f, 0x20, 0x03, 0xd5,
			0xff, 0x03, 0x00, 0x94,
			0xff, 0xff, 0xff, 0xff,
			0xc0, 0x03, 0x5f, 0xd6,
		}, []string{"1000 nop", "1004 bl 0x2000 <helper>", "1008 .byte 0xff 0xff 0xff 0xff", "100c ret"}},
		{"another machine", elf.EM_RISCV, []byte{1, 2, 3, 4, 5},
			[]string{"1000 .byte 0x01 0x02 0x03 0x04", "1004 .byte 0x05"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := code(test.machine, test.code...)
			var got []string
			for _, in := range disassemble(&c) {
				got = append(got, strings.TrimSpace(hex(in.addr)+" "+in.text))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q\nwant %q", got, test.want)
			}
		})
	}
}

func hex(v uint64) string {
	const digits = "0123456789abcdef"
	text := ""
	for ; v > 0; v /= 16 {
		text = string(digits[v%16]) + text
	}
	return text
}

// samples are of own, in one place below the inlined function inner, and of another function.
func samples() *result.Stacks {
	at := func(symbol string, start, offset, count uint64, in ...*result.Frame) result.StackSample {
		f := &result.Frame{Symbol: symbol, DSO: "/bin/x", Offset: offset, FileAddr: start + offset}
		return result.StackSample{Count: count, Value: int64(count) * 1000,
			CallStack: result.StackOf(append(in, f)...)}
	}
	all := &result.Stacks{Meta: result.Meta{Final: true}, Value: "time", Unit: unit.US}
	all.Samples = []result.StackSample{
		at("own", 0x1000, 4, 3), at("own", 0x1000, 4, 1),
		at("own", 0x1000, 6, 1), // inside an instruction
		at("own", 0x1000, 9, 5, &result.Frame{Symbol: "inner", DSO: "/bin/x", Inline: true}),
		at("own2", 0x3000, 0, 2), at("other", 0x4000, 0, 20),
	}
	return all
}

func TestChoose(t *testing.T) {
	list := functions(samples())
	for _, test := range []struct {
		pattern, want string
		count         uint64
		others        int
		hint          string
	}{
		{pattern: "own", want: "own", count: 10},
		{pattern: "own*", want: "own", count: 10, others: 1},
		{pattern: "", want: "other", count: 20},
		{pattern: "inner", hint: "put it into own"},
		{pattern: "none", hint: "other, own, own2"},
	} {
		f, others, err := choose(list, test.pattern)
		if test.hint != "" {
			if hint := diag.HintOf(err); err == nil || !strings.Contains(hint, test.hint) {
				t.Errorf("%q: got %v with hint %q, want one with %q", test.pattern, err, hint, test.hint)
			}
			continue
		}
		if err != nil || f.frame.Symbol != test.want || f.Count != test.count || others != test.others {
			t.Errorf("%q: got %+v, %d others, %v, want %s with %d samples, %d others",
				test.pattern, f, others, err, test.want, test.count, test.others)
		}
	}
	if _, _, err := choose(nil, ""); err == nil {
		t.Error("got no error of no samples")
	}
}

// TestTables checks that each sample is one of a row; shares add up; a line has the samples of all
// its instructions.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("\n", 5) + "\tx = y;\n"
	if err := os.WriteFile(filepath.Join(dir, "a/hot.c"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	all := samples()
	// nops, a mov of three bytes, nops, ret
	c := code(elf.EM_X86_64, 0x90, 0x90, 0x90, 0x90, 0x48, 0x89, 0xc0, 0x90, 0x90, 0x90, 0xc3)
	list := func(context int, lines bool) *result.Table {
		w := Choice{Function: "own", Lines: lines, Sources: []string{dir}, Context: context}
		read := func(*result.Frame) (symbol.Code, error) { return c, nil }
		table, err := w.Table(all, read, func(text string) bool {
			t.Errorf("got message %q", text)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	whole := list(-1, false)
	var count uint64
	share := 0.0
	for _, row := range whole.Rows {
		count += row[1].Uint()
		share += row[0].Float()
	}
	if len(whole.Rows) != 9 || count != 10 || share < 99.999 || share > 100.001 {
		t.Errorf("got %d rows, %d samples, %.3f %%, want 9, 10, 100", len(whole.Rows), count, share)
	}
	row := whole.Rows[4]
	if row[1].Uint() != 5 || row[3].Uint() != 0x1004 || row[5].String() != "/src/a/hot.c:6" ||
		row[6].String() != "    x = y;" {
		t.Errorf("got row %v, want 5 samples at 0x1004 and its source", row)
	}
	if some := list(0, false); len(some.Rows) != 2 || some.Omitted != 7 {
		t.Errorf("got %d rows without context and %d omitted, want 2 and 7", len(some.Rows), some.Omitted)
	}
	lines := list(-1, true)
	if len(lines.Rows) != 3 || lines.Rows[1][1].Uint() != 5 || lines.Rows[1][2].Int() != 5000 {
		t.Errorf("got lines %v, want three, the second with 5 samples", lines.Rows)
	}
	c.Bytes = nil // it could not be read: where samples were taken is still known
	if bare := list(-1, false); len(bare.Rows) != 3 {
		t.Errorf("got %d rows without code, want the three addresses", len(bare.Rows))
	}
}
