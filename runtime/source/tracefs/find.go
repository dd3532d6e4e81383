package tracefs

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/text/diag"
)

// An FS is a mounted tracefs, a directory with the same layout, or the shipped formats of a kernel.
// Its methods may be called from several goroutines.
type FS struct {
	// Options apply to the schemas of this FS. Set them before the first
	// event is rendered.
	Options *Options

	root string // "" for shipped formats
	// shipped has the formats if they are not read from files; nil for a directory. why
	// is the reason why tracefs was not used.
	shipped *shippedFormats
	why     error

	mu      sync.Mutex
	schemas map[string]*event.Schema // by "sys:name"
}

// mountPoint is the directory that the kernel provides for mounting tracefs.
const mountPoint = "/sys/kernel/tracing"

// Find returns this machine's tracefs. If none is mounted it mounts one at
// /sys/kernel/tracing, which needs CAP_SYS_ADMIN and stays mounted.
func Find() (*FS, error) {
	places := append([]string{mountPoint, "/sys/kernel/debug/tracing"}, mounted("/proc/self/mounts")...)
	var denied error
	for _, dir := range places {
		_, err := privilege.Stat(privilege.Kernel, filepath.Join(dir, "events"))
		if err == nil {
			return onThisMachine(dir), nil
		}
		if errors.Is(err, fs.ErrPermission) && denied == nil {
			denied = noAccess(dir, err)
		}
	}
	if denied != nil {
		return nil, denied
	}
	if err := unix.Mount("tracefs", mountPoint, "tracefs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		""); err != nil {
		e := diag.Errorf(diag.Attach, "find", "tracefs", "not mounted, and mounting it at %s: %w",
			mountPoint, err)
		switch {
		case errors.Is(err, unix.ENODEV):
			return nil, e.WithHint("use a kernel with CONFIG_TRACING; without it there are no tracepoints")
		case errors.Is(err, unix.ENOENT):
			return nil, e.WithHint("mount sysfs first: mount -t sysfs sysfs /sys")
		}
		return nil, e.WithHint("run as root: mount -t tracefs tracefs %s", mountPoint)
	}
	return onThisMachine(mountPoint), nil
}

func onThisMachine(dir string) *FS {
	o := &Options{
		HZ:      tickHz(),
		Strings: kernelStrings(dir),
		Enums:   func(names []string) map[string]int64 { return enumerators("/sys/kernel/btf", names) },
	}
	return &FS{root: dir, Options: o, schemas: map[string]*event.Schema{}}
}

// tickHz returns CONFIG_HZ of the running kernel, from the resolution of the
// coarse clock, which is one tick.
func tickHz() int {
	var res unix.Timespec
	if unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &res) != nil || res.Nano() <= 0 {
		return 0
	}
	return int(1e9 / res.Nano())
}

// Root returns the directory of tracefs, "" for shipped formats.
func (f *FS) Root() string { return f.root }

// mounted lists the mount points of tracefs in a mount table.
func mounted(table string) []string {
	file, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer file.Close()
	var dirs []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		switch w := strings.Fields(lines.Text()); {
		case len(w) < 3:
		case w[2] == "tracefs":
			dirs = append(dirs, unescape(w[1]))
		case w[2] == "debugfs":
			dirs = append(dirs, filepath.Join(unescape(w[1]), "tracing"))
		}
	}
	return dirs
}

// unescape undoes the octal escapes of a mount table.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// noAccess returns the error for a tracefs that this user may not read.
func noAccess(path string, err error) error {
	e := diag.Errorf(diag.Attach, "read", path, "%w", diag.Reason(err))
	return e.WithHint("%s", privilege.Advice("cap_perfmon,cap_dac_read_search", "ppscript"))
}

// EventID returns the number of a tracepoint of this machine; false if the
// tracepoint does not exist or its format cannot be read.
func EventID(system, name string) (id uint64, ok bool) {
	f, err := Find()
	if err != nil {
		return 0, false
	}
	s, err := f.Schema(system, name)
	if err != nil {
		return 0, false
	}
	return s.ID, true
}
