package whyfacts

import (
	"cmp"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/target/task"
)

// This file finds names for addresses in processes: a variable of a program or library, the heap,
// the stack of a thread. Futexes, the locks of programs, are identified by such addresses.

const (
	// mostMaps bounds the bytes that are read of a process's list of mappings; about
	// 20,000 mappings.
	mostMaps = 2 << 20
	// mostStacks bounds the threads whose stack pointers are read.
	mostStacks = 256
	// mostVariables bounds the variables that are kept of a file, mostFiles the files.
	mostVariables = 1 << 20
	mostFiles     = 32
	// lasting is the time for which the mappings of a process are cached.
	lasting = 200 * time.Millisecond
)

// places finds names for addresses in processes on this machine.
type places struct {
	store *dso.Store
	maps  []task.Mapping // mappings of pid at the time at
	pid   int32
	at    time.Time
	files map[*dso.File][]variable
}

// A variable is a data object in the symbol tables of a file.
type variable struct {
	addr, size uint64
	name       string
}

// name returns the name of an address in a process: "lock+0x8 of libx.so", "heap", "stack of
// worker/12"; "" if unknown.
func (p *places) name(pid int32, addr uint64) string {
	if p.store == nil {
		p.store, p.files = dso.NewStore(dso.Options{}), map[*dso.File][]variable{}
	}
	if pid != p.pid || time.Since(p.at) > lasting {
		var text []byte
		privilege.Raise(privilege.Processes, func() { text, _ = readMost(procOf(pid)+"maps", mostMaps) })
		p.maps, p.pid, p.at = task.ParseMaps(text), pid, time.Now()
	}
	i := sort.Search(len(p.maps), func(i int) bool { return p.maps[i].End > addr })
	if i == len(p.maps) || addr < p.maps[i].Start {
		return ""
	}
	switch m := &p.maps[i]; {
	case m.Name == "[heap]":
		return "heap"
	case m.Name == "[stack]":
		return stackOf(pid, pid)
	case strings.HasPrefix(m.Name, "[anon"):
		return m.Name
	case strings.HasPrefix(m.Name, "/"):
		if name := p.variable(i, addr); name != "" {
			return name
		}
		return m.Name + "+0x" + strconv.FormatUint(m.Offset(addr), 16)
	case m.Name != "//anon":
		return ""
	}
	if name := p.variable(i, addr); name != "" {
		return name
	}
	return p.stack(pid, &p.maps[i])
}

func (p *places) close() {
	if p.store != nil {
		p.store.Close()
	}
}

func procOf(pid int32) string { return "/proc/" + strconv.Itoa(int(pid)) + "/" }

// variable returns the name of an address in the data of a file. The file is mapped by mapping i,
// or by a mapping that i directly follows: the zero-initialized data (.bss) after a file's data is
// anonymous memory.
func (p *places) variable(i int, addr uint64) string {
	of := i
	for of > 0 && p.maps[of].Name == "//anon" && p.maps[of-1].End == p.maps[of].Start {
		of--
	}
	m := &p.maps[of]
	root, err := p.store.Root(p.pid)
	if err != nil {
		return ""
	}
	f := p.store.Find(dso.Mapping{PID: p.pid, Start: m.Start, End: m.End, Path: m.Name, ID: m.ID, Root: root})
	if f == nil {
		return ""
	}
	im, err := f.Image()
	if err != nil {
		return ""
	}
	for _, s := range im.Progs {
		if s.Type != elf.PT_LOAD || s.Flags&elf.PF_W == 0 || m.Off < s.Off&^0xfff {
			continue
		}
		own := m.Offset(addr) - s.Off + s.Vaddr
		if own < s.Vaddr || own >= s.Vaddr+s.Memsz {
			continue
		}
		file := filepath.Base(f.Name())
		if v := p.find(f, im, own); v != nil {
			if own == v.addr {
				return v.name + " of " + file
			}
			return v.name + "+0x" + strconv.FormatUint(own-v.addr, 16) + " of " + file
		}
		return file + "+0x" + strconv.FormatUint(own, 16)
	}
	return ""
}

// find returns the variable at an address in the file's own tables; nil if there is
// none.
func (p *places) find(f *dso.File, im *dso.Image, addr uint64) *variable {
	list, known := p.files[f]
	if !known {
		list = variables(im, ".symtab", nil)
		list = variables(im, ".dynsym", list)
		slices.SortFunc(list, func(a, b variable) int {
			return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.name, b.name))
		})
		if len(p.files) >= mostFiles {
			clear(p.files)
		}
		p.files[f] = list
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].addr > addr }) - 1
	if i < 0 || addr-list[i].addr >= list[i].size {
		return nil
	}
	for i > 0 && list[i-1].addr == list[i].addr && addr-list[i].addr < list[i-1].size {
		i--
	}
	return &list[i]
}

// symbolSize is the size of Elf64_Sym; tables of 32-bit files are not read.
const symbolSize = 24

// variables appends the variables of a symbol table.
func variables(im *dso.Image, section string, list []variable) []variable {
	table := im.Section(section)
	if table == nil || im.Class != elf.ELFCLASS64 || int(table.Link) >= len(im.Sections) {
		return list
	}
	data, err := im.SectionData(table)
	if err != nil {
		return list
	}
	names, err := im.SectionData(im.Sections[table.Link])
	if err != nil {
		return list
	}
	order := im.ByteOrder
	for ; len(data) >= symbolSize && len(list) < mostVariables; data = data[symbolSize:] {
		v := variable{addr: order.Uint64(data[8:]), size: order.Uint64(data[16:])}
		defined := order.Uint16(data[6:]) != uint16(elf.SHN_UNDEF)
		if elf.ST_TYPE(data[4]) != elf.STT_OBJECT || v.size == 0 || !defined {
			continue
		}
		if v.name = symbol.Demangle(textAt(names, order.Uint32(data))); v.name != "" {
			list = append(list, v)
		}
	}
	return list
}

// textAt returns the text at an offset, which ends with a 0 byte.
func textAt(b []byte, at uint32) string {
	if uint64(at) >= uint64(len(b)) {
		return ""
	}
	b = b[at:]
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return ""
}

// stack returns the name of the thread whose stack is in a mapping. /proc has the stack
// pointers of sleeping threads only.
func (p *places) stack(pid int32, m *task.Mapping) string {
	dir := procOf(pid) + "task"
	threads, err := os.ReadDir(dir)
	if err != nil || len(threads) > mostStacks {
		return ""
	}
	for _, t := range threads {
		text, _ := privilege.ReadFile(privilege.Processes, dir+"/"+t.Name()+"/syscall")
		words := strings.Fields(string(text))
		if len(words) < 3 {
			continue // it runs
		}
		sp, err := strconv.ParseUint(words[len(words)-2], 0, 64)
		if err != nil || sp < m.Start || sp >= m.End {
			continue
		}
		tid, _ := strconv.Atoi(t.Name())
		return stackOf(pid, int32(tid))
	}
	return ""
}

// stackOf returns the name of a thread's stack, "stack of worker/12"; "" if the
// thread has ended.
func stackOf(pid, tid int32) string {
	text, err := os.ReadFile(procOf(pid) + "task/" + strconv.Itoa(int(tid)) + "/comm")
	if err != nil {
		return ""
	}
	return "stack of " + strings.TrimSuffix(string(text), "\n") + "/" + strconv.Itoa(int(tid))
}

// readMost reads at most most bytes of a file.
func readMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}
