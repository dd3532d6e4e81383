package task

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/system/privilege"
)

// This file reads from /proc the state of a process that began before the
// first record: its mappings, its root directory, its number in its own pid
// namespace.

// look reads /proc/PID/maps, once for a space. It is not an error if the
// process has ended.
func (m *Mappings) look(s *Space) {
	if s.looked || m.opt.NoProc {
		return
	}
	s.looked = true
	m.stats.ProcReads++
	b, err := privilege.ReadFile(privilege.Processes,
		filepath.Join(m.opt.Proc, strconv.Itoa(int(s.PID)), "maps"))
	if err != nil {
		return
	}
	m.read(s, b)
}

// Read adds the mappings of a text in the form of /proc/PID/maps to a process,
// which is then not looked up. It returns the number of lines that it cannot
// read.
func (m *Mappings) Read(pid int32, maps []byte) (bad int) {
	return m.read(m.space(pid, 0), maps)
}

func (m *Mappings) read(s *Space, maps []byte) (bad int) {
	for len(maps) > 0 {
		line, rest, _ := bytes.Cut(maps, []byte("\n"))
		maps = rest
		region, id, exec, err := parseMapsLine(line)
		if err != nil {
			bad++
		}
		if err != nil || !exec {
			continue
		}
		region.File = m.file(s, &region, id, "")
		m.add(s, region)
	}
	return bad
}

// identify reads the root, the user and the inner pid of a process if it still runs;
// otherwise the space keeps the values of its parent.
func (m *Mappings) identify(s *Space) {
	if m.opt.NoProc {
		return
	}
	if root, err := m.files.Root(s.PID); err == nil {
		s.Root = root
	}
	b, err := privilege.ReadFile(privilege.Processes,
		filepath.Join(m.opt.Proc, strconv.Itoa(int(s.PID)), "status"))
	if err != nil {
		return
	}
	if uid, ok := statusNumber(b, "\nUid:", 1); ok {
		s.UID = int64(uid)
	}
	if inner, ok := statusNumber(b, "\nNSpid:", -1); ok && inner > 0 {
		s.InnerPID = int32(inner)
	}
}

// InnerTID is the number of a thread in its own namespace, or tid itself if that cannot be read.
func InnerTID(pid, tid int32) int32 {
	b, err := privilege.ReadFile(privilege.Processes, filepath.Join("/proc", strconv.Itoa(int(pid)), "task",
		strconv.Itoa(int(tid)), "status"))
	if err != nil {
		return tid
	}
	if inner, ok := statusNumber(b, "\nNSpid:", -1); ok && inner > 0 {
		return int32(inner)
	}
	return tid
}

// statusNumber returns the number at an index of a line of /proc/PID/status;
// index -1 is the last. The second number of Uid is the effective user; the
// last of NSpid (Linux 4.1) is the pid in the innermost namespace.
func statusNumber(b []byte, key string, which int) (uint32, bool) {
	_, after, ok := bytes.Cut(b, []byte(key))
	if !ok {
		return 0, false
	}
	line, _, _ := bytes.Cut(after, []byte("\n"))
	fields := bytes.Fields(line)
	if which < 0 {
		which = len(fields) - 1
	}
	if which < 0 || which >= len(fields) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(fields[which]), 10, 32)
	return uint32(n), err == nil
}

// Mapping is a mapping of a process, of code or data, with its file.
type Mapping struct {
	Region
	ID dso.ID
}

// ParseMaps reads /proc/PID/maps. Lines that it cannot read are left out.
func ParseMaps(text []byte) (list []Mapping) {
	for line := range bytes.Lines(text) {
		if r, id, _, err := parseMapsLine(bytes.TrimSuffix(line, []byte("\n"))); err == nil {
			list = append(list, Mapping{r, id})
		}
	}
	return list
}

var errMapsLine = errors.New("want start-end perms offset major:minor inode name")

// parseMapsLine reads a line of /proc/PID/maps:
// "start-end rwxp offset major:minor inode   name". The name may hold blanks,
// and newlines as \012.
func parseMapsLine(line []byte) (r Region, id dso.ID, exec bool, err error) {
	field := func() string {
		line = bytes.TrimLeft(line, " ")
		f, rest, _ := bytes.Cut(line, []byte(" "))
		line = rest
		return string(f)
	}
	number := func(text string, base int) uint64 {
		n, e := strconv.ParseUint(text, base, 64)
		if e != nil {
			err = errMapsLine
		}
		return n
	}
	from, to, ok1 := strings.Cut(field(), "-")
	perms, off := field(), field()
	maj, minor, ok2 := strings.Cut(field(), ":")
	ino := field()
	if !ok1 || !ok2 || len(perms) != 4 {
		return r, id, false, errMapsLine
	}
	r.Start, r.End, r.Off = number(from, 16), number(to, 16), number(off, 16)
	a, b := number(maj, 16), number(minor, 16)
	id.Ino = number(ino, 10)
	if err != nil || r.End <= r.Start || a > math.MaxUint32 || b > math.MaxUint32 {
		return r, id, false, errMapsLine
	}
	id.Maj, id.Min = uint32(a), uint32(b)
	r.Name = strings.ReplaceAll(string(bytes.TrimLeft(line, " ")), `\012`, "\n")
	if r.Name == "" {
		r.Name = "//anon"
	}
	return r, id, perms[2] == 'x', nil
}
