package bpf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/system/kerneltype"
	"ppscript/tests/testkit"
)

// A witness has the running thread read expressions in a program, at three system calls.
type witness struct {
	host  *Host
	mem   *expr.Kernel
	enter *event.Schema
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	h, fs := live(t)
	return &witness{h, memory(t), schemaOf(t, fs, "raw_syscalls", "sys_enter")}
}

// reads checks that programs read want, at each call.
func (w *witness) reads(t *testing.T, text, want string) {
	t.Helper()
	ours := node(t, w.enter, fmt.Sprintf("id == %d", unix.SYS_GETPPID))
	spec := counted(reading(t, w.mem, w.enter, text))
	r := start(t, w.host,
		partOf([]*Event{{Schema: w.enter, Label: "enter", Filter: ours}}, &Edge{Group: spec}))
	calls(3)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	g := agg.New(*spec)
	if err := r.Rows(nil, func(_ *agg.Spec, p *agg.Partial) { g.AddPartial(p) }); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, row := range g.Rows() {
		got[row[0].String()] += row[1].Int()
	}
	if len(got) != 1 || got[want] != 3 {
		t.Errorf("%s: got %v, want %s three times", text, got, want)
	}
}

// What programs read of open files, their directory entries and inodes, and of sockets is
// what system calls and /proc say of them.
func TestKernelReadsOfFilesAndSockets(t *testing.T) {
	w := newWitness(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dir := filepath.Join(t.TempDir(), "directory")
	path := filepath.Join(dir, "the file")
	var st unix.Stat_t
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = os.WriteFile(path, make([]byte, 12345), 0o640)
	}
	if err == nil {
		err = os.Link(path, path+"2")
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err == nil {
		_, err = f.Seek(777, 0)
	}
	if err == nil {
		err = unix.Fstat(int(f.Fd()), &st)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file := fmt.Sprintf("task()->files->fdt->fd[%d]", f.Fd())
	for member, want := range map[string]string{
		"->f_path.dentry->d_name.name":           filepath.Base(path),
		"->f_path.dentry->d_parent->d_name.name": "directory",
		"->f_path.dentry->d_inode->i_ino":        fmt.Sprint(st.Ino),
		"->f_inode->i_ino":                       fmt.Sprint(st.Ino),
		"->f_inode->i_size":                      "12345",
		"->f_inode->i_mode":                      fmt.Sprint(st.Mode),
		"->f_inode->i_nlink":                     "2",
		"->f_inode->i_uid.val":                   fmt.Sprint(st.Uid),
		"->f_inode->i_sb->s_dev":                 fmt.Sprint(unix.Major(st.Dev)<<20 | unix.Minor(st.Dev)),
		"->f_pos":                                "777",
		fmt.Sprintf("->f_flags & %d", unix.O_ACCMODE|unix.O_APPEND): fmt.Sprint(
			unix.O_RDWR | unix.O_APPEND),
	} {
		w.reads(t, file+member, want)
	}

	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	of := conn.LocalAddr().(*net.TCPAddr)
	to := conn.RemoteAddr().(*net.TCPAddr)
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	// As /proc/net/tcp has it: local and remote address, state, queues and so on, inode.
	var state, inode string
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) > 9 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", of.Port)) &&
			strings.HasSuffix(f[2], fmt.Sprintf(":%04X", to.Port)) {
			n, err := strconv.ParseUint(f[3], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			state, inode = fmt.Sprint(n), f[9]
		}
	}
	sock := fmt.Sprintf("((struct socket *)task()->files->fdt->fd[%d]->private_data)->sk->__sk_common",
		raw.Fd())
	for member, want := range map[string]string{
		".skc_family": fmt.Sprint(unix.AF_INET),
		".skc_num":    fmt.Sprint(of.Port),
		".skc_dport":  fmt.Sprint(to.Port>>8 | to.Port&0xff<<8),
		".skc_daddr":  fmt.Sprint(binary.NativeEndian.Uint32(to.IP.To4())),
		".skc_state":  state,
	} {
		w.reads(t, sock+member, want)
	}
	w.reads(t, fmt.Sprintf("task()->files->fdt->fd[%d]->f_inode->i_ino", raw.Fd()), inode)
}

// A kcore is the kernel's memory as it shows it to debuggers. It knows the types by
// kerneltype, and nothing of programs.
type kcore struct {
	file  *os.File
	progs []*elf.Prog
	types *kerneltype.Types
}

func openKcore(t *testing.T) *kcore {
	t.Helper()
	f, err := os.Open("/proc/kcore")
	testkit.Requires(t, testkit.Optional("kcore", err))
	t.Cleanup(func() { f.Close() })
	e, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	return &kcore{f, e.Progs, kerneltype.Running()}
}

// bytes are n bytes at an address.
func (k *kcore) bytes(t *testing.T, at uint64, n int) []byte {
	t.Helper()
	for _, p := range k.progs {
		if p.Type == elf.PT_LOAD && at >= p.Vaddr && at+uint64(n) <= p.Vaddr+p.Memsz {
			b := make([]byte, n)
			if _, err := k.file.ReadAt(b, int64(p.Off+at-p.Vaddr)); err != nil {
				t.Fatalf("%#x: %v", at, err)
			}
			return b
		}
	}
	t.Fatalf("%#x is not in /proc/kcore", at)
	return nil
}

// member is where a member lies in a structure.
func (k *kcore) member(t *testing.T, typ, member string) uint64 {
	t.Helper()
	s, err := k.types.Named(typ)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Member(member)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(m.Offset)
}

// listedTask is an entry of the list of all tasks.
type listedTask struct {
	at        uint64
	pid, ppid uint32
	comm      string
	nice      int32
}

// tasks walks the list of processes, from the first one.
func (k *kcore) tasks(t *testing.T, first uint64) (list []listedTask) {
	t.Helper()
	of := func(member string) uint64 { return k.member(t, "struct task_struct", member) }
	u64 := func(at uint64) uint64 { return binary.NativeEndian.Uint64(k.bytes(t, at, 8)) }
	u32 := func(at uint64) uint32 { return binary.NativeEndian.Uint32(k.bytes(t, at, 4)) }
	tasks, tgid, comm, parent := of("tasks"), of("tgid"), of("comm"), of("real_parent")
	static := of("static_prio")
	for at := u64(first+tasks) - tasks; at != first; at = u64(at+tasks) - tasks {
		name, _, _ := bytes.Cut(k.bytes(t, at+comm, 16), []byte{0})
		list = append(list, listedTask{at, u32(at + tgid), u32(u64(at+parent) + tgid), string(name),
			int32(u32(at+static)) - 120})
		if len(list) > 1<<16 {
			t.Fatal("the list of tasks has no end")
		}
	}
	return list
}

// symbol is the address of a symbol of the kernel.
func symbol(t *testing.T, name string) uint64 {
	t.Helper()
	b, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == name {
			at, err := strconv.ParseUint(f[0], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
	}
	testkit.Requires(t, testkit.Optional("kallsyms", fmt.Errorf("%s is not in /proc/kallsyms", name)))
	return 0
}

// A walk through the kernel's memory from outside, as a debugger does it, finds the
// processes that /proc has, and programs read the same of each.
func TestKernelReadsEqualKcore(t *testing.T) {
	k := openKcore(t)
	first := symbol(t, "init_task")
	w := newWitness(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	list := k.tasks(t, first)
	known := map[uint32]bool{}
	const most = 12 // processes for which programs are loaded
	for i, task := range list {
		known[task.pid] = true
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", task.pid))
		if err != nil {
			continue // it ended
		}
		// pid (comm) state ppid ... prio nice
		head, tail, _ := strings.Cut(string(stat), ") ")
		_, comm, _ := strings.Cut(head, " (")
		f := strings.Fields(tail)
		got := fmt.Sprintf("%d %d", task.ppid, task.nice)
		// Threads of the kernel have more of a name there than fits.
		if want := f[1] + " " + f[16]; got != want || !strings.HasPrefix(comm, task.comm) {
			t.Errorf("process %d: got %s %s in the kernel's memory, /proc has %s %s", task.pid,
				task.comm, got, comm, want)
		}
		if i >= most && task.pid != uint32(os.Getpid()) {
			continue
		}
		at := fmt.Sprintf(`cast(%#x, "struct task_struct")`, task.at)
		if !strings.Contains(comm, "kworker") { // they are called by what they do
			w.reads(t, at+"->comm", task.comm)
		}
		w.reads(t, at+"->real_parent->tgid", fmt.Sprint(task.ppid))
		w.reads(t, at+"->static_prio - 120", fmt.Sprint(task.nice))
		w.reads(t, fmt.Sprintf(`container_of(%#x, "struct task_struct", "tasks")->tgid`,
			task.at+k.member(t, "struct task_struct", "tasks")), fmt.Sprint(task.pid))
	}
	if !known[1] || !known[uint32(os.Getpid())] || len(list) < 10 {
		t.Errorf("got %d processes, want all, the first one and this one", len(list))
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		pid, err := strconv.ParseUint(filepath.Base(dir), 10, 32)
		if _, gone := os.Stat(dir); err == nil && gone == nil && !known[uint32(pid)] {
			// It may have begun after the walk.
			again := false
			for _, task := range k.tasks(t, first) {
				again = again || task.pid == uint32(pid)
			}
			if !again {
				t.Errorf("process %d of /proc is not in the list of tasks", pid)
			}
		}
	}
}
