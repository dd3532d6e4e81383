package symbol

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/target/task"

	"ppscript/tests/testkit"
)

// A recorder hears of the mappings of the whole machine.
type recorder struct {
	t    *testing.T
	src  event.Source
	maps *task.Mappings
	syms *Symbolizer
}

func record(t *testing.T) *recorder {
	t.Helper()
	testkit.Requires(t, testkit.Root, testkit.Sysfs)
	schema, err := perf.SoftwareSchema("dummy")
	if err != nil {
		t.Fatal(err)
	}
	src, err := perf.Open(context.Background(), perf.Config{
		Pages:    4096, // for all that is started on the machine meanwhile
		Events:   []perf.EventConfig{{Schema: schema}},
		SideBand: perf.SideBand{Comm: true, Task: true, Mmap: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	r := &recorder{t: t, src: src, maps: task.NewMappings(task.MappingsOptions{})}
	t.Cleanup(func() { r.maps.Close() })
	r.syms = New(Options{Maps: r.maps})
	return r
}

// read takes in all records so far.
func (r *recorder) read() {
	r.t.Helper()
	if err := r.src.Poll(context.Background(), 10*time.Millisecond); err != nil && err != io.EOF {
		r.t.Fatal(err)
	}
	var all []event.Event
	batch := make([]event.Event, 64)
	for _, ring := range r.src.Rings() {
		_, visible := ring.Bounds()
		for {
			n := ring.Read(batch, visible)
			for i := range batch[:n] {
				if batch[i].Kind == event.Lost {
					r.t.Fatalf("%d records were lost", batch[i].Count)
				}
				all = append(all, event.Event{})
				batch[i].Keep(&all[len(all)-1])
			}
			ring.Release()
			if n < len(batch) {
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b event.Event) int { return int(a.Time - b.Time) })
	for i := range all {
		r.maps.Record(&all[i])
	}
}

// target is a started process that printed where its function is.
type target struct {
	pid  int32
	addr uint64
	cmd  *exec.Cmd
	end  func()
}

func start(t *testing.T, cmd *exec.Cmd) *target {
	t.Helper()
	in, out := testkit.StartPiped(t, cmd)
	done := false
	tg := &target{cmd: cmd, pid: int32(cmd.Process.Pid), end: func() {
		if !done {
			done = true
			in.Close()
			cmd.Wait()
		}
	}}
	t.Cleanup(tg.end)
	line, _ := bufio.NewReader(out).ReadString('\n')
	var inner int
	if _, err := fmt.Sscanf(line, "%d 0x%x", &inner, &tg.addr); err != nil {
		t.Fatalf("%s printed %q: %v", cmd.Path, line, err)
	}
	return tg
}

func (r *recorder) want(tg *target, symbol, dso string) {
	r.t.Helper()
	for off := uint64(0); off < 8; off += 4 {
		f := r.syms.Resolve(tg.pid, tg.pid, tg.addr+off, event.MaxTime)
		if len(f) != 1 || f[0].Symbol != symbol || f[0].DSO != dso {
			r.t.Errorf("got %+v, want %s in %s", f, symbol, dso)
		}
	}
}

// D-13 of perf-prof: a program that is gone before its mappings are read.
func TestProgramThatEnded(t *testing.T) {
	path := program(t, "target")
	r := record(t)
	tg := start(t, exec.Command(path))
	tg.end()
	r.read()
	r.want(tg, "marked_function", path)
}

// A file that was deleted while it ran, and a process that ended since.
func TestDeletedProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deleted")
	b, err := os.ReadFile(program(t, "target"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, 1), 0o700); err != nil { // a file of its own
		t.Fatal(err)
	}
	r := record(t)
	tg := start(t, exec.Command(path, "wait"))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.read()
	tg.end()
	r.want(tg, "marked_function", path)
}

// A process that was there before anything was recorded.
func TestProgramFromBefore(t *testing.T) {
	path := program(t, "target")
	tg := start(t, exec.Command(path, "wait"))
	r := &recorder{t: t, maps: task.NewMappings(task.MappingsOptions{})}
	defer r.maps.Close()
	r.syms = New(Options{Maps: r.maps})
	r.want(tg, "marked_function", path)
}

// container makes a root directory with the target in it.
func container(t *testing.T, arg string) (*exec.Cmd, string) {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"app", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(program(t, "target-static"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "app/server"), b, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/app/server", arg)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
	}
	cmd.Dir = "/"
	return cmd, root
}

// A process in a mount and pid namespace with another root: its path means
// nothing to us.
func TestContainer(t *testing.T) {
	cmd, root := container(t, "wait")
	r := record(t)
	tg := start(t, cmd)
	r.read()
	tg.end()
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	r.want(tg, "marked_function", "/app/server")
}

// The map of a JIT compiler in a container is named after the inner pid, and
// lies in the container's own /tmp.
func TestJITMapInContainer(t *testing.T) {
	cmd, root := container(t, "jit")
	r := record(t)
	tg := start(t, cmd)
	r.read()
	if _, err := os.Stat(filepath.Join(root, "tmp/perf-1.map")); err != nil {
		t.Fatal(err)
	}
	tg.end()
	r.want(tg, "LHello;::world [jit]", "[jit]")
}

func TestJITMap(t *testing.T) {
	path := program(t, "target")
	r := record(t)
	tg := start(t, exec.Command(path, "jit"))
	defer os.Remove(fmt.Sprintf("/tmp/perf-%d.map", tg.pid))
	r.read()
	r.want(tg, "LHello;::world [jit]", "[jit]")
	tg.end()
}

// A map that grew is read again after Refresh; one of another user's is not
// believed.
func TestJITMapGrows(t *testing.T) {
	r := record(t)
	tg := start(t, exec.Command(program(t, "target"), "jit"))
	path := fmt.Sprintf("/tmp/perf-%d.map", tg.pid)
	defer os.Remove(path)
	r.read()
	tg.addr += 0x1000
	r.want(tg, Unknown, "//anon")
	text := fmt.Sprintf("%x 100 grown\n", tg.addr)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r.want(tg, Unknown, "//anon")
	r.syms.Refresh()
	r.want(tg, "grown", "[jit]")
	if err := os.Chown(path, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	r.syms.Refresh()
	r.want(tg, Unknown, "//anon")
}

// The vDSO of a process is ours.
func TestVDSO(t *testing.T) {
	tg := start(t, exec.Command(program(t, "target"), "wait"))
	maps := task.NewMappings(task.MappingsOptions{})
	defer maps.Close()
	s := New(Options{Maps: maps})
	f := maps.Files().VDSO()
	if f == nil {
		testkit.Requires(t, testkit.Optional("a vDSO", errors.New("this kernel maps none")))
	}
	im, err := f.Image()
	if err != nil {
		t.Fatal(err)
	}
	syms, err := im.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	space := maps.Space(tg.pid, event.MaxTime)
	checked := 0
	for _, region := range space.Regions() {
		if region.Name != "[vdso]" {
			continue
		}
		for _, sym := range syms {
			off, ok := im.Offset(sym.Value)
			if !ok || sym.Size == 0 {
				continue
			}
			got := s.Resolve(tg.pid, tg.pid, region.Start+off-region.Off, event.MaxTime)[0]
			if strings.TrimPrefix(sym.Name, "__vdso_") != strings.TrimPrefix(got.Symbol, "__vdso_") ||
				got.DSO != "[vdso]" || got.Offset != 0 {
				t.Errorf("%s: got %+v", sym.Name, got)
			}
			checked++
		}
	}
	if checked < 2 {
		t.Errorf("got %d functions of the vDSO, want some", checked)
	}
}
