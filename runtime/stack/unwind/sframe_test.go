package unwind

import (
	"debug/elf"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/stack/dso"

	"ppscript/tests/testkit"
)

// sframeProgram is a program with both sections, whose functions have frames of all kinds.
func sframeProgram(t *testing.T, compiler string, options ...string) string {
	t.Helper()
	testkit.Requires(t, testkit.GCC, testkit.Binutils)
	if help := testkit.Run(t, "as", "--help"); !strings.Contains(help.Stdout, "--gsframe") {
		t.Skip("the assembler writes no .sframe")
	}
	path := filepath.Join(t.TempDir(), "prog")
	args := append([]string{compiler, "-Wa,--gsframe", "-o", path, "testdata/sframe.c"}, options...)
	testkit.Run(t, args...).Want(t, 0)
	return path
}

func imageOf(t *testing.T, path string) *dso.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	im, err := dso.ReadImage(f, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// TestSframeAgreesWithEhFrame checks that .sframe and .eh_frame of one program say the same of the
// CFA, the return address and the frame pointer, at each address that both know.
func TestSframeAgreesWithEhFrame(t *testing.T) {
	const arm = "aarch64-linux-gnu-gcc"
	for _, options := range [][]string{
		{"gcc", "-O0"}, {"gcc", "-O2", "-fomit-frame-pointer"}, {"gcc", "-O2", "-fno-omit-frame-pointer"},
		{"gcc", "-Os", "-static"}, {arm, "-O0"}, {arm, "-O2"},
	} {
		if _, err := exec.LookPath(options[0]); err != nil {
			t.Logf("without %s", options[0])
			continue
		}
		im := imageOf(t, sframeProgram(t, options[0], options[1:]...))
		machine := archOf(im.Machine)
		ra, fp := max(machine.lr, machine.pc), machine.fp
		sf, err := sframeRules(im)
		if err != nil || sf == nil {
			t.Fatalf("%v: got %v, %v", options, sf, err)
		}
		section, ok := ehFrame(im)
		if !ok {
			t.Fatal("no .eh_frame")
		}
		eh, err := parseCFI(section)
		if err != nil {
			t.Fatal(err)
		}
		of := func(t *ruleTable, r *ruleSet, reg uint8) (is regRule) {
			for _, rule := range t.pool[r.first:][:r.n] {
				if rule.reg == reg {
					is = rule
				}
			}
			return is
		}
		same, unknown := 0, 0
		for _, name := range []string{".text", ".plt"} {
			s := im.Section(name)
			if s == nil {
				continue
			}
			for addr := s.Addr; addr < s.Addr+s.Size; addr++ {
				a, b := sf.find(addr), eh.find(addr)
				if a == nil || b == nil || b.flags&cfaExpr != 0 {
					unknown++
					continue
				}
				if a.cfaReg != b.cfaReg || a.cfaOff != b.cfaOff || of(sf, a, ra) != of(eh, b, ra) ||
					of(sf, a, fp) != of(eh, b, fp) {
					// The outermost function has no caller in .eh_frame, which version 1 cannot say.
					if of(eh, b, ra).kind == undefined {
						continue
					}
					t.Fatalf("%v: %#x: got %+v with %v %v, want %+v with %v %v", options, addr,
						a, of(sf, a, ra), of(sf, a, fp), b, of(eh, b, ra), of(eh, b, fp))
				}
				same++
			}
		}
		t.Logf("%v: %d addresses agree, %d are not in both", options, same, unknown)
		if same < 150 {
			t.Errorf("%v: got %d addresses", options, same)
		}
	}
}

// A program without .eh_frame is walked by .sframe.
func TestModuleTakesSframe(t *testing.T) {
	path := sframeProgram(t, "gcc", "-O2", "-fomit-frame-pointer")
	bare := path + ".bare"
	testkit.Run(t, "objcopy", "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", path, bare).
		Want(t, 0)
	store := dso.NewStore(dso.Options{})
	defer store.Close()
	f, err := store.Open(nil, bare)
	if err != nil {
		t.Fatal(err)
	}
	m := loadModule(store, f)
	im := imageOf(t, bare)
	symbols, err := im.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && strings.HasPrefix(s.Name, "frame_") &&
			s.Name != "frame_dummy" {
			if _, r := m.rules(s.Value); r == nil || r.cfaReg != amd64.sp || r.cfaOff != 8 {
				t.Errorf("%s: got %+v, want that the caller is at the stack pointer", s.Name, r)
			}
			known++
		}
	}
	if known < 3 {
		t.Errorf("got %d functions", known)
	}
	c, err := Compile(store, f)
	if err != nil || c == nil {
		t.Errorf("in the compiled form: got %v, %v", c, err)
	}
}

// A damaged section is refused, or has fewer rules; it takes neither all time nor all memory.
func FuzzSframe(f *testing.F) {
	f.Add([]byte("\xe2\xde\x02\x01\x03\x00\xf8\x00\x01\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00" +
		"\x00\x00\x00\x00\x14\x00\x00\x00\x00\x10\x00\x00\x20\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00" +
		"\x00\x10\x00\x00\x00\x03\x08"))
	f.Add(repeated(2))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, a := range []*arch{&amd64, &arm64} {
			table, err := parseSframe(a, data, 0x400000)
			if (table == nil) == (err == nil) {
				t.Fatalf("got %v and %v", table, err)
			}
			if table != nil && table.Len() > maxTableRows+1 {
				t.Errorf("got %d rows", table.Len())
			}
		}
	})
}

// repeated is a section of functions whose code is blocks of a byte that repeat, without rows: each takes 20
// bytes, and tells of as many blocks as a number of 32 bits has.
func repeated(functions int) []byte {
	b := []byte("\xe2\xde\x02\x01\x03\x00\xf8\x00")
	for _, n := range []int{functions, 0, 0, 0, 20 * functions} {
		b = le.AppendUint32(b, uint32(n))
	}
	for i := range functions {
		b = le.AppendUint32(b, uint32(i)) // its begin
		b = le.AppendUint32(b, math.MaxUint32)
		b = le.AppendUint32(b, 0)
		b = le.AppendUint32(b, 0)
		b = append(b, 1<<4, 1, 0, 0)
	}
	return append(b, 0)
}

// TestSframeBlocksAreBounded checks that blocks take time also if they have no rows: their number
// is bounded.
func TestSframeBlocksAreBounded(t *testing.T) {
	began := testkit.CPUTime(t)
	table, err := parseSframe(&amd64, repeated(1000), 0x400000)
	if err != nil || table.Len() > maxTableRows+1 {
		t.Fatalf("got %v", err)
	}
	if took := testkit.CPUTime(t) - began; took > 5*time.Second {
		t.Errorf("got %s of CPU for %d blocks, want a moment", took, maxSframeRows)
	}
}
