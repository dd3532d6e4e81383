package probe

import (
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"
)

// noteBytes is a note as the assembler would write it.
func noteBytes(owner string, typ uint32, desc []byte) []byte {
	var b []byte
	b = binary.LittleEndian.AppendUint32(b, uint32(len(owner)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(desc)))
	b = binary.LittleEndian.AppendUint32(b, typ)
	b = append(b, owner...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	b = append(b, desc...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func descBytes(pc, base, sem uint64, texts string) []byte {
	var b []byte
	for _, v := range []uint64{pc, base, sem} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return append(b, texts...)
}

func testFile() *elf.File {
	return &elf.File{FileHeader: elf.FileHeader{
		Class:     elf.ELFCLASS64,
		ByteOrder: binary.LittleEndian,
		Machine:   elf.EM_X86_64,
	}}
}

func TestParseNotes(t *testing.T) {
	data := noteBytes("stapsdt\x00", 3, descBytes(0x40, 0x80, 0x90, "p\x00first\x00-4@%eax\x00"))
	data = append(data, noteBytes("GNU\x00", 3, []byte("something else"))...)
	data = append(data, noteBytes("stapsdt\x00", 3, descBytes(0x50, 0, 0, "p\x00second\x00\x00"))...)
	notes, err := parseNotes(data, testFile())
	if err != nil || len(notes) != 2 {
		t.Fatalf("got %v %v, want two notes", notes, err)
	}
	n := notes[0]
	if n.fullName() != "p:first" || n.Addr != 0x40 || n.Base != 0x80 || n.Semaphore != 0x90 ||
		n.Args != "-4@%eax" {
		t.Errorf("got %+v", n)
	}
	if notes[1].fullName() != "p:second" || notes[1].Args != "" {
		t.Errorf("got %+v", notes[1])
	}
}

func TestCorruptNotes(t *testing.T) {
	whole := noteBytes("stapsdt\x00", 3, descBytes(1, 2, 3, "p\x00n\x00\x00"))
	f := func(data []byte, want string) {
		t.Helper()
		if _, err := parseNotes(data, testFile()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f(whole[:10], "cut off")
	f(whole[:len(whole)-8], "cut off")
	f(noteBytes("stapsdt\x00", 3, []byte("short")), "no addresses")
	f(noteBytes("stapsdt\x00", 3, descBytes(1, 2, 3, "p\x00n")), "do not end")
	f(noteBytes("stapsdt\x00", 3, descBytes(1, 2, 3, "\x00\x00\x00")), "no name")
	huge := noteBytes("stapsdt\x00", 3, nil)
	binary.LittleEndian.PutUint32(huge[4:], 0xfffffffe)
	f(huge, "cut off")
}

// An error, or notes that all have names.
func FuzzNotes(f *testing.F) {
	f.Add(noteBytes("stapsdt\x00", 3, descBytes(1, 2, 3, "p\x00n\x00-4@%eax\x00")))
	f.Add(noteBytes("", 0, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		notes, err := parseNotes(data, testFile())
		if err != nil && notes != nil {
			t.Errorf("got notes and error %v", err)
		}
		for _, n := range notes {
			if n.Provider == "" || n.Name == "" {
				t.Errorf("got a note without a name: %+v", n)
			}
		}
	})
}
