package tracefs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/tests/testkit"
)

// This file compares our text of events with the kernel's. A private tracing
// instance records a workload on CPU 0; its trace file has the kernel's
// rendering, its trace_pipe_raw the very same records in binary.

// An instance is a tracing instance that goes away with the test.
type instance struct {
	t   *testing.T
	dir string
}

func newInstance(t *testing.T, f *FS) *instance {
	t.Helper()
	dir := filepath.Join(f.Root(), "instances", "ppscript-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	in := &instance{t, dir}
	t.Cleanup(func() {
		in.tryWrite("events/enable", "0")
		if err := unix.Rmdir(dir); err != nil {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	return in
}

func (in *instance) tryWrite(file, text string) error {
	f, err := os.OpenFile(filepath.Join(in.dir, file), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func (in *instance) write(file, text string) {
	in.t.Helper()
	if err := in.tryWrite(file, text); err != nil {
		in.t.Fatal(err)
	}
}

// lines is the kernel's rendering, one event a line: "name: text".
func (in *instance) lines() []string {
	in.t.Helper()
	b, err := os.ReadFile(filepath.Join(in.dir, "per_cpu/cpu0/trace"))
	if err != nil {
		in.t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "#") {
			list = append(list, strings.TrimSuffix(line, "\n"))
		}
	}
	return list
}

// entries is how many records the buffer has.
func (in *instance) entries() int {
	in.t.Helper()
	b, err := os.ReadFile(filepath.Join(in.dir, "per_cpu/cpu0/stats"))
	if err != nil {
		in.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "entries: ")
	digits, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(digits)
	if err != nil {
		in.t.Fatal(err)
	}
	return n
}

// raw is the records, in order.
func (in *instance) raw() [][]byte {
	in.t.Helper()
	fd, err := unix.Open(filepath.Join(in.dir, "per_cpu/cpu0/trace_pipe_raw"),
		unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		in.t.Fatal(err)
	}
	defer unix.Close(fd)
	var list [][]byte
	for {
		page := make([]byte, os.Getpagesize())
		n, err := unix.Read(fd, page)
		if err == unix.EAGAIN || err == nil && n == 0 {
			return list
		}
		if err != nil {
			in.t.Fatal(err)
		}
		if list, err = records(list, page[:n]); err != nil {
			in.t.Fatal(err)
		}
	}
}

// kallsyms is a symbol table for %pS, as the kernel's own lookup has it.
func kallsyms(t *testing.T) func(uint64) (string, uint64, uint64, bool) {
	t.Helper()
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type sym struct {
		addr uint64
		name string // "" of data where the kernel names functions only
	}
	var syms []sym
	for lines := bufio.NewScanner(f); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) < 3 {
			continue
		}
		addr, _ := strconv.ParseUint(w[0], 16, 64)
		name := w[2]
		if name == "__start_rodata" {
			name = ""
		}
		if len(w) > 3 {
			name += " " + w[3]
		}
		syms = append(syms, sym{addr, name})
	}
	slices.SortStableFunc(syms, func(a, b sym) int {
		if a.addr < b.addr {
			return -1
		} else if a.addr > b.addr {
			return 1
		}
		return 0
	})
	return func(addr uint64) (string, uint64, uint64, bool) {
		next := sort.Search(len(syms), func(i int) bool { return syms[i].addr > addr })
		if next == 0 || next == len(syms) || addr < 1<<63 {
			return "", 0, 0, false
		}
		at := next - 1
		for at > 0 && syms[at-1].addr == syms[at].addr {
			at-- // of aliases the first one counts
		}
		return syms[at].name, addr - syms[at].addr, syms[next].addr - syms[at].addr, syms[at].name != ""
	}
}

// oracleSystems are switched on together; the rest is too noisy (lock,
// function-like) or never fires without its hardware.
const oracleSystems = `alarmtimer avc block capability cgroup compaction csd dev error_report exceptions ext4
	fib fib6 filelock filemap huge_memory icmp iomap ipi irq irq_vectors jbd2 kmem ksm kvm kvmmmu
	maple_tree migrate mmap mmap_lock msr napi neigh net netlink notifier oom page_isolation page_pool pagemap
	percpu power printk qdisc random raw_syscalls syscalls rcu readahead rpm sched signal skb sock swiotlb task tcp
	thp timer timer_migration tlb udp vmalloc vmscan wbt workqueue writeback x86_fpu xfs btrfs io_uring`

// enableAll switches the oracle's systems on and returns their schemas by id.
func (in *instance) enableAll(f *FS) map[uint64]*event.Schema {
	in.t.Helper()
	byID := map[uint64]*event.Schema{}
	for _, sys := range strings.Fields(oracleSystems) {
		names, err := f.dirs(sys)
		if err != nil {
			continue // this kernel lacks the system
		}
		for _, name := range names {
			s, err := f.Schema(sys, name)
			if err != nil {
				in.t.Fatal(err)
			}
			byID[s.ID] = s
		}
		in.write("events/"+sys+"/enable", "1")
	}
	return byID
}

func TestLiveTextIsTheKernelsOwn(t *testing.T) {
	testkit.Requires(t, testkit.Long)
	f := live(t)
	f.Options.Ksym = kallsyms(t)
	in := newInstance(t, f)
	in.write("tracing_on", "0")
	in.write("buffer_size_kb", "32768")
	in.write("options/overwrite", "0")    // a full buffer drops the newest records
	in.write("options/context-info", "0") // lines begin with the event's name
	hashed := in.tryWrite("options/hash-ptr", "0") != nil
	byID := in.enableAll(f)
	in.write("tracing_on", "1")
	workload(t)
	in.write("tracing_on", "0")
	in.write("events/enable", "0")

	lines := in.lines()
	if !hashed && len(lines) < in.entries() {
		// Kernels before 6.2 or so lose texts, and a line's end with them,
		// when pointers are not hashed.
		hashed = true
		in.write("options/hash-ptr", "1")
		lines = in.lines()
	}
	raws := in.raw() // reading them takes them out of the buffer
	good, bad, shown := map[string]int{}, map[string]int{}, map[string]bool{}
	var ev event.Event
	var buf []byte
	for i, raw := range raws {
		s := byID[uint64(binary.LittleEndian.Uint16(raw))]
		if s == nil {
			t.Fatalf("record %d: unknown type", i)
		}
		if len(lines) == 0 || !lineOf(s, lines[0]) {
			t.Fatalf("record %d of %d is %s, the kernel's lines go on with %.1q", i, len(raws),
				s.FullName(), lines)
		}
		// Lines that begin with no event's name belong to the text before.
		kernels, n := strings.TrimPrefix(lines[0], s.Name+": "), 1
		for surplus := len(lines) - (len(raws) - i); surplus > 0 && n < len(lines) &&
			i+1 < len(raws); surplus-- {
			if lineOf(byID[uint64(binary.LittleEndian.Uint16(raws[i+1]))], lines[n]) {
				break
			}
			kernels += "\n" + lines[n]
			n++
		}
		lines = lines[n:]
		ev.Raw = raw
		buf = s.Text(buf[:0], &ev)
		ours, kernels := strings.TrimSuffix(string(buf), "\n"), strings.TrimSuffix(kernels, "\n")
		if hashed && s.System != "syscalls" {
			ours, kernels = pointer.ReplaceAllString(ours, "POINTER"),
				pointer.ReplaceAllString(kernels, "POINTER")
		}
		same := sameText
		if s.System == "syscalls" {
			same = sameCall
		}
		name := s.FullName()
		if err := same(s, ours, kernels); err != nil {
			if bad[name]++; bad[name] <= 2 {
				t.Errorf("%s: %v\n  ours %s\nkernel %s", name, err, ours, kernels)
			}
			continue
		}
		good[name]++
		if err := sameShown(s, &ev, kernels, shown); err != nil {
			t.Errorf("%s: %v\nkernel %s", name, err, kernels)
		}
	}
	t.Logf("fields by name: %v", slices.Sorted(maps.Keys(shown)))
	if len(shown) < 20 {
		t.Errorf("got %d fields that show more than numbers, want at least 20", len(shown))
	}
	for name, n := range bad {
		t.Errorf("%s: %d of %d differ", name, n, n+good[name])
	}
	t.Logf("%d records, %d events: %v", len(raws), len(good), slices.Sorted(maps.Keys(good)))
	if len(good) < 60 {
		t.Errorf("got %d sorts of events, want at least 60", len(good))
	}
}

// lineOf reports that the kernel printed a line for an event of the schema.
func lineOf(s *event.Schema, line string) bool {
	if s.System != "syscalls" {
		return strings.HasPrefix(line, s.Name+": ")
	}
	call := strings.TrimPrefix(strings.TrimPrefix(s.Name, "sys_enter"), "sys_exit")
	return strings.HasPrefix(line, "sys"+call)
}

// sameText compares the text of this package with the kernel's, word by word.
// Exactly the words that only the kernel can compute must be "?".
func sameText(s *event.Schema, ours, kernels string) error {
	name := s.FullName()
	if kernelFunctions[name] {
		if ours == kernels || !strings.Contains(ours, "=") {
			return fmt.Errorf("want name=value, other than the kernel's text")
		}
		return nil
	}
	a, b := strings.Split(ours, " "), strings.Split(kernels, " ")
	if len(a) != len(b) {
		return fmt.Errorf("%d words, the kernel has %d", len(a), len(b))
	}
	for i := range a {
		if key := kernelVariables[name]; key != "" && a[i] == key+"?" && strings.HasPrefix(b[i], key) {
			continue
		}
		if a[i] != b[i] {
			return fmt.Errorf("word %d is %q, the kernel has %q", i, a[i], b[i])
		}
	}
	return nil
}

// pointer is what %p prints.
var pointer = regexp.MustCompile(`\b[0-9a-f]{16}\b`)

var (
	ourArg    = regexp.MustCompile(`(\w+): 0x([0-9a-f]+)`)
	kernelArg = regexp.MustCompile(`(\w+): (?:0x)?([0-9a-f]+)`)
)

// sameCall compares the numbers of a system call: the kernel's trace file does
// not use the print fmt of these events, but code of its own:
// "sys_close(fd: 3)", "sys_close -> 0x0".
func sameCall(s *event.Schema, ours, kernels string) error {
	call := strings.TrimPrefix(strings.TrimPrefix(s.Name, "sys_enter"), "sys_exit")
	if ret, ok := strings.CutPrefix(kernels, "sys"+call+" -> "); ok {
		if ret != ours {
			return fmt.Errorf("result %s, the kernel has %s", ours, ret)
		}
		return nil
	}
	if !strings.HasPrefix(kernels, "sys"+call+"(") {
		return fmt.Errorf("the kernel has another call")
	}
	args := map[string]string{}
	for _, m := range kernelArg.FindAllStringSubmatch(kernels, -1) {
		if _, dup := args[m[1]]; !dup {
			args[m[1]] = strings.TrimLeft(m[2], "0")
		}
	}
	for _, m := range ourArg.FindAllStringSubmatch(ours, -1) {
		v, _ := strconv.ParseUint(m[2], 16, 64)
		want, ok := args[m[1]]
		if !ok || strings.TrimLeft(m[2], "0") != want &&
			strings.TrimLeft(strconv.FormatUint(v, 10), "0") != want {
			return fmt.Errorf("%s is %s, the kernel has %s", m[1], m[2], want)
		}
	}
	return nil
}
