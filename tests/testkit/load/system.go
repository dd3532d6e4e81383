package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file has the work of a worker that involves more than its own threads:
// signals, children, locks, connections, files and disks.

// A system has the numbers of these operations.
type system struct {
	copies, signals, execs, futex, contend, threaded, moves, rare int

	network
	storage
}

// network has the number of connections, the port, and whether to try a
// connection that no program accepts.
type network struct {
	connect, port int
	retry         bool
}

// storage has the numbers of writes, reads and reclaims, and the files and
// disks for them.
type storage struct {
	writes, reads, reclaims int
	file, disk, knob, word  string
}

func (w *worker) use() error {
	if err := w.copy(); err != nil {
		return err
	}
	if w.signals > 0 {
		signal.Ignore(unix.SIGTERM)
	}
	for i := range w.signals {
		if err := unix.Tgkill(os.Getpid(), unix.Gettid(),
			[]unix.Signal{unix.SIGWINCH, unix.SIGTERM}[i%2]); err != nil {
			return err
		}
	}
	for range w.execs {
		if err := execute(); err != nil {
			return err
		}
	}
	for range w.futex {
		missed()
	}
	for _, step := range []func() error{
		w.contendBoth, w.callNew, w.connectAll, w.unaccepted, w.move, w.write, w.readDisk, w.reclaim,
		w.rareCalls,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// copy makes the kernel write to new pages.
func (w *worker) copy() error {
	if w.copies == 0 {
		return nil
	}
	size := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, w.copies*size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	if err := unix.Madvise(mem, unix.MADV_NOHUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	for i := range w.copies {
		if _, err := unix.Getrandom(mem[i*size:i*size+8], 0); err != nil {
			return err
		}
	}
	return unix.Munmap(mem)
}

// execute runs true as a child, and waits for it.
func execute() error {
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{})
	if err != nil {
		return err
	}
	_, err = syscall.Wait4(pid, nil, 0, nil)
	return err
}

// missed waits for a word to change that has changed already.
func missed() {
	word := uint32(1)
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&word)), 0 /* FUTEX_WAIT */, 0, 0, 0, 0)
}

// contendBoth reads the fill level of a pipe on two CPUs at the same time; each
// read takes the lock of the pipe.
func (w *worker) contendBoth() error {
	if w.contend == 0 {
		return nil
	}
	other := make(chan error)
	go func() {
		err := pin(w.cpu+1, w.comm+"-lock")
		for i := 0; err == nil && i < w.contend; i++ {
			_, err = unix.IoctlGetInt(w.there[0], unix.TIOCINQ)
		}
		other <- err
	}()
	var err error
	for i := 0; err == nil && i < w.contend; i++ {
		_, err = unix.IoctlGetInt(w.there[0], unix.TIOCINQ)
	}
	return errors.Join(err, <-other)
}

// callNew makes calls in a new thread. The runtime gives idle threads to
// goroutines. A thread whose goroutine ends while locked to it ends too, so after
// some tries the runtime must create a new one.
func (w *worker) callNew() error {
	if w.threaded == 0 {
		return nil
	}
	before, err := threads()
	if err != nil {
		return err
	}
	for {
		made := make(chan bool)
		failed := make(chan error, 1)
		go func() {
			failed <- pin(w.cpu, "new-"+strconv.Itoa(w.cpu))
			isNew := !before[unix.Gettid()]
			for i := 0; isNew && i < w.threaded; i++ {
				unix.RawSyscallNoError(unix.SYS_GETPPID, uintptr(i), 0, 0)
			}
			made <- isNew
		}()
		if isNew := <-made; isNew {
			return <-failed
		}
	}
}

// threads returns the ids of the threads of this process.
func threads() (map[int]bool, error) {
	entries, err := os.ReadDir("/proc/self/task")
	tids := map[int]bool{}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids[tid] = true
		}
	}
	return tids, err
}

// listen returns a socket that listens at the port on the loopback device.
func (w *worker) listen(backlog int) (fd int, at *unix.SockaddrInet4, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, nil, err
	}
	at = &unix.SockaddrInet4{Port: w.port, Addr: [4]byte(net.IPv4(127, 0, 0, 1).To4())}
	err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(fd, at),
		unix.Listen(fd, backlog))
	return fd, at, err
}

// dial begins a connection.
func dial(at unix.Sockaddr, flags int) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|flags, 0)
	if err == nil {
		err = unix.Connect(fd, at)
	}
	return fd, err
}

// connectAll makes connections one after the other; both ends close.
func (w *worker) connectAll() error {
	if w.connect == 0 {
		return nil
	}
	fd, at, err := w.listen(8)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for range w.connect {
		c, err := dial(at, 0)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		s, _, err := unix.Accept(fd)
		if err := errors.Join(err, unix.Close(c), unix.Close(s)); err != nil {
			return err
		}
	}
	return nil
}

// unaccepted fills the queue of a listener and tries once more, until the kernel
// has sent the first packet again, after a second.
func (w *worker) unaccepted() error {
	if !w.retry {
		return nil
	}
	fd, at, err := w.listen(0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var last int
	for range 3 {
		if last, err = dial(at, unix.SOCK_NONBLOCK); err != nil && err != unix.EINPROGRESS {
			return err
		}
		defer unix.Close(last)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		info, err := unix.GetsockoptTCPInfo(last, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil || info.Total_retrans > 0 {
			return err
		}
	}
	return errors.New("nothing was sent again")
}

// move moves the thread to the next CPU and back.
func (w *worker) move() error {
	for i := range 2 * w.moves {
		var set unix.CPUSet
		set.Set(w.cpu + (i+1)%2)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return err
		}
	}
	return nil
}

// write writes to the file block by block, and reads them.
func (w *worker) write() error {
	if w.writes == 0 {
		return nil
	}
	f, err := os.OpenFile(w.file, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 4096)
	for i := range w.writes {
		at := int64(i * len(block))
		if _, err := f.WriteAt(block, at); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		if _, err := f.ReadAt(block, at); err != nil {
			return err
		}
	}
	return nil
}

// readDisk reads blocks of different sizes from the disk itself.
func (w *worker) readDisk() error {
	if w.reads == 0 {
		return nil
	}
	fd, err := unix.Open(w.disk, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	mem, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	for i := range w.reads {
		size := 4096 << (i % 3)
		if _, err := unix.Pread(fd, mem[:size], int64(i)<<16); err != nil {
			return fmt.Errorf("read %s: %w", w.disk, err)
		}
	}
	return unix.Munmap(mem)
}

// reclaim fills the page cache and makes the kernel reclaim it.
func (w *worker) reclaim() error {
	for range w.reclaims {
		if err := os.WriteFile(w.file, make([]byte, 1<<20), 0o600); err != nil {
			return err
		}
		// It does not matter if the kernel could not reclaim all of it.
		if err := os.WriteFile(w.knob, []byte(w.word), 0); err != nil && !errors.Is(err, unix.EAGAIN) &&
			!errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return nil
}
