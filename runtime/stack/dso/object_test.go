package dso

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bytes"
	"debug/elf"
	"ppscript/tests/testkit"
)

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

// elfWith is a small ELF file with a build-id, and nothing to run.
func elfWith(id string) []byte {
	le := binary.LittleEndian
	b := make([]byte, 64+56)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], 3)  // ET_DYN
	le.PutUint16(b[18:], 62) // x86-64
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], 64) // program headers
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 1)
	note := append([]byte{4, 0, 0, 0, byte(len(id)), 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0}, id...)
	ph := b[64:]
	le.PutUint32(ph, 4) // PT_NOTE
	le.PutUint64(ph[8:], uint64(len(b)))
	le.PutUint64(ph[32:], uint64(len(note)))
	le.PutUint64(ph[40:], uint64(len(note)))
	le.PutUint64(ph[48:], 4)
	return append(b, note...)
}

func idOf(t *testing.T, path string) ID {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return ID{Maj: uint32(st.Dev >> 8 & 0xfff), Min: uint32(st.Dev&0xff | st.Dev>>12&0xfff00), Ino: st.Ino}
}

func TestBuildIDAgreesWithReadelf(t *testing.T) {
	testkit.Requires(t, testkit.Binutils)
	s := NewStore(Options{})
	defer s.Close()
	checked := 0
	for _, path := range []string{"/bin/true", "/bin/sh", "/bin/bash", "/usr/bin/env"} {
		f, err := s.Open(nil, path)
		if err != nil {
			continue
		}
		out, err := exec.Command("readelf", "-n", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		_, after, ok := strings.Cut(string(out), "Build ID: ")
		if !ok {
			continue
		}
		want := strings.Fields(after)[0]
		im, err := f.Image()
		if err != nil || f.BuildID != want || im.BuildID() != want {
			t.Errorf("%s: got %s and %s, want %s (%v)", path, f.BuildID, im.BuildID(), want, err)
		}
		checked++
	}
	if checked == 0 {
		testkit.Requires(t, testkit.Optional("a program with a build-id",
			errors.New("none of this system's has one")))
	}
}

// Deleted files do not hold the disk's space for ever; others stay open.
func TestDeletedFilesAreClosed(t *testing.T) {
	dir := t.TempDir()
	const size, most = 1 << 16, 10
	s := NewStore(Options{MaxDeleted: most * size})
	defer s.Close()
	find := func(name string) *File {
		path := filepath.Join(dir, name)
		write(t, path, append(elfWith(fmt.Sprintf("%20s", name)), make([]byte, size)...)[:size])
		return s.Find(Mapping{Path: path, ID: idOf(t, path)})
	}
	var stay, gone []*File
	for i := range 5 * sweepEvery {
		if i%sweepEvery == 0 {
			stay = append(stay, find(fmt.Sprintf("stays%d", i)))
			continue
		}
		gone = append(gone, find(fmt.Sprintf("goes%d", i)))
		if err := os.Remove(gone[len(gone)-1].Path); err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, f := range gone {
			if f.file != nil {
				open++
			}
		}
		if open > most+sweepEvery {
			t.Fatalf("after %d files: got %d deleted ones open, want at most %d until the next are looked at",
				i, open, most)
		}
	}
	for _, f := range stay {
		if f.file == nil {
			t.Errorf("%s: got it closed, though it is still there", f.Path)
		}
	}
	var magic [4]byte
	if _, err := gone[len(gone)-1].ReadAt(magic[:], 0); err != nil || string(magic[1:]) != "ELF" {
		t.Errorf("the last deleted: got %q %v, want it open", magic, err)
	}
	if st := s.Stats(); st.Closed == 0 || st.Open > len(stay)+most+sweepEvery {
		t.Errorf("got %+v", st)
	}
}

// TestFilesAreSharedAndBounded checks that files are one by number and by build-id, and few stay
// open.
func TestFilesAreSharedAndBounded(t *testing.T) {
	dir := t.TempDir()
	s := NewStore(Options{MaxOpen: 3})
	defer s.Close()
	var files []*File
	for i := range 10 {
		path := filepath.Join(dir, string(rune('a'+i)))
		write(t, path, elfWith(strings.Repeat(string(rune('a'+i)), 20)))
		files = append(files, s.Find(Mapping{Path: path, ID: idOf(t, path)}))
	}
	if st := s.Stats(); st.Open != 3 || st.Closed != 7 || st.Files != 3 || len(s.byBuild) != 3 {
		t.Errorf("got %+v, want the last 3 of 10 known and open", st)
	}
	for i, f := range files {
		var magic [4]byte
		if _, err := f.ReadAt(magic[:], 0); err != nil || string(magic[1:]) != "ELF" {
			t.Errorf("file %d: got %q %v, want it opened again", i, magic, err)
		}
	}
	if again := s.Find(Mapping{Path: files[9].Path, ID: files[9].ID}); again != files[9] {
		t.Error("read again: got another file")
	}
	if again := s.Find(Mapping{Path: "/somewhere/else", ID: files[9].ID}); again != files[9] {
		t.Error("the same number: got another file")
	}
	copied := filepath.Join(dir, "copy")
	write(t, copied, elfWith(strings.Repeat("j", 20)))
	if same := s.Find(Mapping{Path: copied, ID: idOf(t, copied)}); same != files[9] {
		t.Error("the same build-id: got another file")
	}
	if s.Stats().Open > 3 {
		t.Errorf("got %d open, want 3", s.Stats().Open)
	}
	// A file that is heard of stays known while others come and go, also
	// under the numbers of many copies.
	for i := range 1000 {
		write(t, copied, elfWith(fmt.Sprintf("%020d", i)))
		s.Find(Mapping{Path: copied, ID: ID{Ino: uint64(1e9 + i)}})
		if s.Find(Mapping{Path: files[9].Path, ID: ID{Ino: uint64(2e9 + i)}, BuildID: files[9].BuildID}) !=
			files[9] {
			t.Fatalf("after %d others: got another file", i)
		}
	}
	if st := s.Stats(); st.Files > 3+maxCopies || len(s.byBuild) != 3 {
		t.Errorf("after many: got %+v, %d build-ids", st, len(s.byBuild))
	}
}

// A file that was replaced since it was mapped is not taken for it.
func TestReplacedFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lib")
	write(t, path, elfWith(strings.Repeat("a", 20)))
	id := idOf(t, path)
	write(t, filepath.Join(dir, "new"), elfWith(strings.Repeat("b", 20)))
	if err := os.Rename(filepath.Join(dir, "new"), path); err != nil {
		t.Fatal(err)
	}
	s := NewStore(Options{})
	defer s.Close()
	if f := s.Find(Mapping{Path: path, ID: id}); f.Opened() {
		t.Error("by number: got the new file")
	}
	if f := s.Find(Mapping{Path: path, BuildID: strings.Repeat("61", 20)}); f.Opened() {
		t.Error("by build-id: got the new file")
	}
	if f := s.Find(Mapping{Path: path, BuildID: strings.Repeat("62", 20)}); !f.Opened() {
		t.Error("by the new build-id: got no file")
	}
}

func TestMemoryIsNoFile(t *testing.T) {
	s := NewStore(Options{})
	defer s.Close()
	for _, name := range []string{
		"//anon", "[heap]", "", "/memfd:jit (deleted)", "/dev/zero", "/SYSV00000000 (deleted)",
	} {
		if f := s.Find(Mapping{Path: name}); f != nil {
			t.Errorf("%q: got a file", name)
		}
	}
}

// The owner of a container cannot make us open our own files, or hang.
func TestRootIsNoWayOut(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Plain)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tmp/file"), []byte("inside"))
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, []byte("outside"))
	for name, to := range map[string]string{
		"abs": secret, "rel": "../../../../../../../../" + secret, "good": "/tmp/file",
	} {
		if err := os.Symlink(to, filepath.Join(dir, "tmp", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "tmp/fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	// A process whose root is dir.
	write(t, filepath.Join(dir, "app"), mustRead(t, "/proc/self/exe"))
	cmd := exec.Command("/app", "-test.run=^TestHelperSleeps$")
	cmd.Env = append(os.Environ(), "OBJECT_SLEEP=1")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir}
	in, out := testkit.StartPiped(t, cmd)
	defer cmd.Wait()
	defer in.Close()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s := NewStore(Options{})
	defer s.Close()
	r, err := s.Root(int32(cmd.Process.Pid))
	if err != nil || r.Own() {
		t.Fatalf("got %v %v, want a root of its own", r, err)
	}
	f := func(path, want string) {
		t.Helper()
		var b []byte
		file, err := r.Open(path)
		if err == nil {
			b, err = io.ReadAll(file)
			file.Close()
		}
		if string(b) != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q %v, want %q", path, b, err, want)
		}
	}
	f("/tmp/file", "inside")
	f("/tmp/good", "inside")
	f("/tmp/../../../../tmp/file", "inside")
	f("/tmp/abs", "")
	f("/tmp/rel", "")
	f("/tmp/fifo", "")
	f("/tmp", "")
	if own, err := s.Root(int32(os.Getpid())); err != nil || !own.Own() {
		t.Errorf("our own root: got %v %v", own, err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHelperSleeps is the process of TestRootIsNoWayOut.
func TestHelperSleeps(t *testing.T) {
	if os.Getenv("OBJECT_SLEEP") == "" {
		return // it does its work in a process that TestRootIsNoWayOut starts
	}
	os.Stdout.WriteString("x")
	os.Stdin.Read(make([]byte, 1))
}

func FuzzFindBuildID(f *testing.F) {
	f.Add([]byte{4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd}, 4)
	f.Add([]byte{4, 0, 0, 0, 255, 255, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0}, 8)
	f.Fuzz(func(t *testing.T, b []byte, align int) {
		if id := NoteBuildID(b, binary.LittleEndian, align); len(id) > 2*len(b) {
			t.Fatalf("got %d digits from %d bytes", len(id), len(b))
		}
	})
}

// A file that nobody could show is found when a process does.
func TestFileTurnsUp(t *testing.T) {
	s := NewStore(Options{})
	defer s.Close()
	path := filepath.Join(t.TempDir(), "lib")
	m := Mapping{Path: path}
	first := s.Find(m)
	if first.Opened() || s.Stats().NotFound != 1 {
		t.Fatalf("got %+v, want it not found", s.Stats())
	}
	if _, err := first.Image(); err == nil {
		t.Error("got an image of a missing file")
	}
	write(t, path, elfWith(strings.Repeat("a", 20)))
	if again := s.Find(m); again != first || !again.Opened() {
		t.Error("got another file, want the first one opened")
	}
	if _, err := first.Image(); err != nil {
		t.Errorf("got %v, want an image", err)
	}
}

// TestFilesOfRecording checks that files of a recording are told apart by the build-ids that it
// has, and found in a cache of such files.
func TestFilesOfRecording(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "lib")
	write(t, path, elfWith(strings.Repeat("b", 20))) // a newer one than was recorded
	want := strings.Repeat("61", 20)
	open := func() *File {
		s := NewStore(Options{
			NoProc: true, BuildIDs: map[string]string{path: want}, DebugDirs: []string{cache},
		})
		t.Cleanup(func() { s.Close() })
		f := s.Find(Mapping{Path: path, ID: ID{Ino: 4711}})
		f.Image()
		return f
	}
	if f := open(); f.Opened() {
		t.Error("got the newer file")
	}
	write(t, filepath.Join(cache, ".build-id/61", want[2:], "elf"), elfWith(strings.Repeat("a", 20)))
	if f := open(); !f.Opened() || f.BuildID != want {
		t.Errorf("got build-id %s, want the cached file", f.BuildID)
	}
	write(t, path, elfWith(strings.Repeat("a", 20)))
	if f := open(); !f.Opened() || f.Name() != path {
		t.Error("got no file, want that of the path")
	}
}

// A file that is gone is found in perf's cache of the user, and in that of the
// distribution; symbols of one without are in a copy below another root.
func TestFilesFoundElsewhere(t *testing.T) {
	id := strings.Repeat("61", 20)
	whole := elfWith(strings.Repeat("a", 20))
	for _, place := range []string{".build-id/61/" + id[2:] + "/elf", ".build-id/61/" + id[2:]} {
		cache := t.TempDir()
		write(t, filepath.Join(cache, place), whole)
		s := NewStore(Options{DebugDirs: []string{cache}})
		f := s.Find(Mapping{Path: "/gone", BuildID: id})
		if f == nil || !f.Opened() {
			t.Errorf("%s: got nothing, want the cached file", place)
		}
		if other := s.Find(Mapping{Path: "/gone", BuildID: strings.Repeat("62", 20)}); other.Opened() {
			t.Errorf("%s: got a file for another build-id", place)
		}
		s.Close()
	}
	cache := t.TempDir()
	write(t, filepath.Join(cache, ".build-id/61", id[2:], "kallsyms"), []byte("0 T x\n"))
	if got := Cached([]string{t.TempDir(), cache}, id, "kallsyms"); !strings.HasPrefix(got, cache) {
		t.Errorf("kallsyms: got %q, want that below %s", got, cache)
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "/gone"), whole)
	s := NewStore(Options{SysRoot: root})
	defer s.Close()
	if f := s.Find(Mapping{Path: "/gone"}); !f.Opened() {
		t.Error("got nothing, want the file below the other root")
	}
}

// Neither pipes nor devices are opened, and nothing waits for them.
func TestOnlyFilesAreOpened(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := pipe + ".link"
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero", "/dev/tty", "/tmp"} {
		if f, err := (*Root)(nil).Open(path); err == nil ||
			!errors.Is(err, ErrIrregular) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: got %v %v, want that it is not a regular file", path, f, err)
		}
	}
	if _, err := (*Root)(nil).OpenPlain(link); err == nil {
		t.Error("link: got a file, want that it is not followed")
	}
	s := NewStore(Options{})
	defer s.Close()
	if f := s.Find(Mapping{Path: pipe}); f.Opened() {
		t.Error("mapped pipe: got a file")
	}
}

// Headers that promise more sections, or longer names, than there may be.
func TestHostileHeaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "elf")
	f := func(what, want string, header elf.Header64, first elf.Section64) {
		t.Helper()
		header.Ident = [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}
		header.Shoff, header.Shentsize = 4096, 64
		var b bytes.Buffer
		binary.Write(&b, binary.LittleEndian, header)
		b.Write(make([]byte, 4096-b.Len()))
		binary.Write(&b, binary.LittleEndian, first)
		write(t, path, b.Bytes())
		if err := os.Truncate(path, 3<<30); err != nil {
			t.Fatal(err)
		}
		s := NewStore(Options{})
		defer s.Close()
		file, err := s.Open(nil, path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Image(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", what, err, want)
		}
	}
	f("sections", "more than 65535 sections", elf.Header64{}, elf.Section64{Size: 40e6})
	f("names", "names of sections too large", elf.Header64{Shnum: 1}, elf.Section64{
		Type: uint32(elf.SHT_STRTAB), Size: 2 << 30,
	})
}
