package probe

import (
	"bufio"
	"debug/elf"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/privilege"
)

// bias returns the difference between a file's addresses in a process and its
// linked addresses. The mapping is found by device and inode, since names
// differ between mount namespaces.
func (r *Resolver) bias(s *Spec, m *image, path string) (uint64, error) {
	var want unix.Stat_t
	if err := unix.Stat(path, &want); err != nil {
		return 0, err
	}
	f, err := privilege.Open(privilege.Processes, fmt.Sprintf("%s/%d/maps", r.proc(), s.PID))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		// 55d0-55d4 r-xp 00001000 fe:00 4711 /path
		parts := strings.Fields(in.Text())
		if len(parts) < 5 {
			continue
		}
		inode, err := strconv.ParseUint(parts[4], 10, 64)
		if err != nil || inode != want.Ino {
			continue
		}
		from, _, _ := strings.Cut(parts[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		off, err2 := strconv.ParseUint(parts[2], 16, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		for _, p := range m.Progs {
			if p.Type == elf.PT_LOAD && off >= p.Off&^4095 && off < p.Off+max(p.Filesz, 1) {
				return start - off - (p.Vaddr - p.Off), nil
			}
		}
	}
	return 0, fmt.Errorf("the file is not mapped into process %d", s.PID)
}
