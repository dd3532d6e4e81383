package tracefs

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// workload makes many sorts of tracepoints fire on CPU 0. Sorts that a
// machine does not offer are left out: the caller looks at the events that
// came.
func workload(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old, zero unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		t.Fatal(err)
	}
	zero.Set(0)
	if err := unix.SchedSetaffinity(0, &zero); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &old)
	dir := t.TempDir()
	for _, part := range []func(string){
		files, memory, processes, signals, sockets, timers, cgroups, virtual, knobs, futexes,
	} {
		part(dir)
	}
}

func files(dir string) {
	name := filepath.Join(dir, "data")
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return
	}
	buf := make([]byte, 64<<10)
	for i := range 8 {
		unix.Pwrite(fd, buf, int64(i)<<16)
	}
	unix.Fsync(fd)
	unix.Fallocate(fd, 0, 1<<20, 1<<20)
	unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED)
	unix.Pread(fd, buf, 0)
	unix.Flock(fd, unix.LOCK_EX)
	unix.Flock(fd, unix.LOCK_UN)
	lock := unix.Flock_t{Type: unix.F_WRLCK, Len: 10}
	unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &lock)
	unix.Ftruncate(fd, 4096)
	unix.Fdatasync(fd)
	unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WRITE)
	unix.Close(fd)
	unix.Mkdir(filepath.Join(dir, "sub"), 0o700)
	unix.Rename(name, filepath.Join(dir, "sub", "data"))
	unix.Unlink(filepath.Join(dir, "sub", "data"))
	unix.Rmdir(filepath.Join(dir, "sub"))
	unix.Sync()
}

func memory(string) {
	m, err := unix.Mmap(-1, 0, 8<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return
	}
	for i := 0; i < len(m); i += 4096 {
		m[i] = 1
	}
	unix.Madvise(m, unix.MADV_PAGEOUT)
	unix.Madvise(m[:1<<20], unix.MADV_DONTNEED)
	unix.Mprotect(m[:4096], unix.PROT_READ)
	unix.Munmap(m)
}

func processes(string) {
	for _, script := range []string{":", "exit 3", "echo x >/dev/null; (:); nice -n 3 true"} {
		exec.Command("sh", "-c", script).Run()
	}
	unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&[]byte("renamed\x00")[0])), 0, 0, 0)
}

func signals(string) {
	cmd := exec.Command("sleep", "10")
	if cmd.Start() != nil {
		return
	}
	cmd.Process.Signal(syscall.SIGSTOP)
	cmd.Process.Signal(syscall.SIGCONT)
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
}

func sockets(string) {
	for _, network := range []string{"tcp4", "tcp6"} {
		l, err := net.Listen(network, ":0")
		if err != nil {
			continue
		}
		if c, err := net.Dial(network, l.Addr().String()); err == nil {
			if s, err := l.Accept(); err == nil {
				c.Write(make([]byte, 9000))
				s.Read(make([]byte, 9000))
				s.Close()
			}
			c.Close()
		}
		l.Close()
		net.Dial(network, l.Addr().String()) // refused: a reset
	}
	if u, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err == nil {
		u.WriteTo([]byte("x"), u.LocalAddr())
		u.ReadFrom(make([]byte, 8))
		u.WriteTo([]byte("x"), &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9})
		u.Close()
	}
	if p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
		unix.Write(p[0], []byte("hello"))
		unix.Read(p[1], make([]byte, 8))
		unix.Close(p[0])
		unix.Close(p[1])
	}
}

func timers(string) {
	for range 3 {
		unix.Nanosleep(&unix.Timespec{Nsec: 2e6}, nil)
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, 0)
	if err != nil {
		return
	}
	unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.Timespec{Nsec: 1e6}}, nil)
	unix.Read(fd, make([]byte, 8))
	unix.Close(fd)
	unix.Setitimer(unix.ItimerProf, unix.Itimerval{})
	unix.Select(0, nil, nil, nil, &unix.Timeval{Usec: 5000})
	unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
}

func cgroups(string) {
	root := "/sys/fs/cgroup"
	if dir, err := os.MkdirTemp(root, "tracefs-test-"); err == nil {
		os.Remove(dir)
	}
}

// virtual runs a few instructions in a real-mode guest: a loop over an output
// port.
func virtual(string) {
	const (
		createVM, createVCPU, mmapSize = 0xae01, 0xae41, 0xae04
		setMemory, run                 = 0x4020ae46, 0xae80
		getSregs, setSregs, setRegs    = 0x8138ae83, 0x4138ae84, 0x4090ae82
	)
	kvm, err := unix.Open("/dev/kvm", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(kvm)
	ioctl := func(fd, cmd, arg uintptr) int {
		r, _, e := unix.Syscall(unix.SYS_IOCTL, fd, cmd, arg)
		if e != 0 {
			return -1
		}
		return int(r)
	}
	vm := ioctl(uintptr(kvm), createVM, 0)
	if vm < 0 {
		return
	}
	defer unix.Close(vm)
	mem, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return
	}
	defer unix.Munmap(mem)
	// mov dx, 0x3f8; out dx, al; cpuid; jmp back to the out
	copy(mem, []byte{0xba, 0xf8, 0x03, 0xee, 0x0f, 0xa2, 0xeb, 0xfb})
	region := struct {
		slot, flags      uint32
		guest, size, mem uint64
	}{0, 0, 0x1000, 4096, uint64(uintptr(unsafe.Pointer(&mem[0])))}
	ioctl(uintptr(vm), setMemory, uintptr(unsafe.Pointer(&region)))
	vcpu := ioctl(uintptr(vm), createVCPU, 0)
	if vcpu < 0 {
		return
	}
	defer unix.Close(vcpu)
	size := ioctl(uintptr(kvm), mmapSize, 0)
	state, err := unix.Mmap(vcpu, 0, max(size, 4096), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return
	}
	defer unix.Munmap(state)
	sregs := make([]byte, 0x138)
	ioctl(uintptr(vcpu), getSregs, uintptr(unsafe.Pointer(&sregs[0])))
	copy(sregs[0:8], make([]byte, 8)) // cs.base
	sregs[12], sregs[13] = 0, 0       // cs.selector
	ioctl(uintptr(vcpu), setSregs, uintptr(unsafe.Pointer(&sregs[0])))
	var regs [18]uint64
	regs[16], regs[17] = 0x1000, 2 // rip, rflags
	ioctl(uintptr(vcpu), setRegs, uintptr(unsafe.Pointer(&regs[0])))
	for range 20 {
		ioctl(uintptr(vcpu), run, 0)
	}
}

// knobs asks the kernel for work: compaction, a line in its log.
func knobs(string) {
	for path, text := range map[string]string{
		"/proc/sys/vm/compact_memory": "1",
		"/dev/kmsg":                   "<6>tracefs test\n",
	} {
		if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			f.WriteString(text)
			f.Close()
		}
	}
}

func futexes(string) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mu.Lock()
			time.Sleep(time.Millisecond)
			mu.Unlock()
		}()
	}
	wg.Wait()
}
