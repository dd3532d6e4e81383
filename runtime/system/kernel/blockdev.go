package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ppscript/runtime/text/diag"
)

// A BlockDevice is a disk or a partition. Requests in block tracepoints have
// the number of the disk; a partition is a range of its sectors.
type BlockDevice struct {
	Name  string // "vda1"
	Disk  string // "vda"
	Dev   uint64 // number of the disk as in tracepoints: major<<20 | minor
	Start uint64 // first sector, of 512 bytes
	Size  uint64 // number of sectors
	Part  bool
}

// ReadBlockDevice finds a block device by its name, with or without /dev/.
func ReadBlockDevice(r Roots, name string) (BlockDevice, error) {
	base := strings.TrimPrefix(name, "/dev/")
	d := BlockDevice{Name: base, Disk: base}
	class := r.SysPath("class", "block")
	if base == "" || strings.ContainsAny(base, "/\x00") || base[0] == '.' {
		return d, noDevice(name, class, errors.New("not the name of a device"))
	}
	link, err := filepath.EvalSymlinks(filepath.Join(class, base))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("no such block device")
		}
		return d, noDevice(name, class, err)
	}
	if d.Size, err = readUint(filepath.Join(link, "size")); err != nil {
		return d, noDevice(name, class, err)
	}
	disk := link
	if _, err := os.Stat(filepath.Join(link, "partition")); err == nil {
		d.Part = true
		disk = filepath.Dir(link)
		d.Disk = filepath.Base(disk)
		if d.Start, err = readUint(filepath.Join(link, "start")); err != nil {
			return d, noDevice(name, class, err)
		}
	}
	b, err := os.ReadFile(filepath.Join(disk, "dev"))
	if err != nil {
		return d, noDevice(name, class, err)
	}
	major, minor, ok := strings.Cut(strings.TrimSpace(string(b)), ":")
	ma, err1 := strconv.ParseUint(major, 10, 12)
	mi, err2 := strconv.ParseUint(minor, 10, 20)
	if !ok || err1 != nil || err2 != nil {
		return d, noDevice(name, class, errors.New("its numbers cannot be read"))
	}
	d.Dev = ma<<20 | mi
	return d, nil
}

// BlockDevices lists all block devices by name. A device that is removed meanwhile is
// left out.
func BlockDevices(r Roots) ([]BlockDevice, error) {
	entries, err := os.ReadDir(r.SysPath("class", "block"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the kernel has no block layer
	}
	if err != nil {
		return nil, diag.Errorf(diag.Run, "list", "block devices", "%w", diag.Reason(err)).
			WithHint("look: ls -ld %s", r.SysPath("class", "block"))
	}
	var list []BlockDevice
	for _, e := range entries {
		if d, err := ReadBlockDevice(r, e.Name()); err == nil {
			list = append(list, d)
		}
	}
	return list, nil
}

func readUint(path string) (uint64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
}

func noDevice(name, class string, cause error) error {
	var names []string
	entries, _ := os.ReadDir(class)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	e := &diag.Error{Op: "block device", Subject: name, Cause: cause, Class: diag.Usage}
	if n := diag.Nearest(strings.TrimPrefix(name, "/dev/"), names); n != "" {
		return e.WithHint("did you mean %s? list them: lsblk", n)
	}
	return e.WithHint("list them: lsblk")
}

// DiskName is the name of the block device with a number from an event, which is major<<20 |
// minor; "" if there is none.
func DiskName(dev uint32) string {
	to, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", dev>>20, dev&(1<<20-1)))
	if err != nil {
		return ""
	}
	return filepath.Base(to)
}
