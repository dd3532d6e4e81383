package naming

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/symbol"
)

// This file finds out whether the kernel of a recording is the running one. If
// it is, its symbols are read from this machine. Symbols of another kernel, or
// of the same kernel loaded at another address, would look plausible but be
// wrong.

// kernelName is the name of the kernel's file in recordings.
const kernelName = "[kernel.kallsyms]"

// recordedID is the build-id of a recording's kernel.
func recordedID(info *perfdata.Info) (id string, known bool) {
	for _, b := range info.BuildIDs {
		if b.Kernel && strings.HasPrefix(b.Path, kernelName) {
			return hex.EncodeToString(b.ID), true
		}
	}
	return "", false
}

// KernelID is the build-id of a recording's kernel, or of the running one if
// info is nil; "" if unknown.
func KernelID(info *perfdata.Info) string {
	if info == nil {
		id, _ := runningID()
		return id
	}
	id, _ := recordedID(info)
	return id
}

// runningID is the build-id of the running kernel.
func runningID() (string, error) {
	notes, err := os.ReadFile("/sys/kernel/notes")
	if err != nil {
		return "", err
	}
	return kernelBuildID(notes), nil
}

// kernelBuildID is the build-id in the notes of a kernel.
func kernelBuildID(notes []byte) string { return dso.NoteBuildID(notes, binary.LittleEndian, 4) }

// foreignKernel reports that the recording is of another kernel, as far as its
// header shows.
func (o *Options) foreignKernel() bool {
	if o.Recording == nil {
		return false
	}
	if id, known := recordedID(o.Recording); known {
		running, err := runningID()
		return err == nil && id != running
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	of := o.Recording.OSRelease
	return err == nil && of != "" && of != strings.TrimSpace(string(release))
}

// cachedKernel finds the symbols of a recording's kernel in the cache by
// build-id; nil if they are not there.
func (o *Options) cachedKernel() *symbol.Kernel {
	id, known := recordedID(o.Recording)
	if !known {
		return nil
	}
	path := dso.Cached(o.debugDirs(), id, "kallsyms")
	if path == "" {
		return nil
	}
	if k := symbol.NewKernel(path); k.Err() == nil {
		return k
	}
	return nil
}

// debugDirs are the directories with files by build-id.
func (o *Options) debugDirs() []string {
	return append(slices.Clone(o.DebugDirs), dso.UsualDebugDirs()...)
}

// fileIDs returns the build-ids of a recording's files by path.
func (o *Options) fileIDs() map[string]string {
	ids := map[string]string{}
	for _, b := range o.Recording.BuildIDs {
		if !b.Kernel {
			ids[b.Path] = hex.EncodeToString(b.ID)
		}
	}
	return ids
}

// origin has the facts about the kernel of the events.
type origin struct {
	foreign bool // it is not the running one, and has no names here
	// elsewhere says that its symbols come from a file or another source.
	elsewhere bool
	// looked says that its file was searched on this machine, searched that the search on
	// servers has ended too.
	looked, searched bool
	// id is the build-id of the kernel, "" if unknown.
	id string
	// symbol and addr are a symbol and its address in the recording.
	symbol string
	addr   uint64
}

// adopt searches the symbols of a foreign kernel, and uses them if they are found.
func (n *Namer) adopt() {
	if !n.foreign || n.searched || n.addr == 0 || n.id == "" {
		return
	}
	k, over := n.elsewhereKernel()
	if k != nil {
		n.kernel, n.foreign, n.elsewhere = k, false, true
		n.symbols.Kernel(k)
	}
	if n.searched = k != nil || over; n.searched {
		n.clearFrames()
	}
}

// strange tells the user that a foreign kernel has no names, unless they may
// still be fetched.
func (n *Namer) strange() {
	text := "kernel functions have no names: the recording is of another kernel than the one that runs here"
	switch known := n.id != "" && n.addr != 0; {
	case known && !n.searched:
		return
	case known:
		text += " (--symbols-from DIR says where its vmlinux or debug file is, or --debuginfod)"
	}
	n.say(text)
}

// elsewhereKernel finds symbols by the build-id; over says that the search has
// ended.
func (n *Namer) elsewhereKernel() (k *symbol.Kernel, over bool) {
	id := n.id
	take := func(path string) (*symbol.Kernel, bool) {
		k, err := symbol.ReadKernelFile(path, n.symbol, n.addr)
		return k, err == nil
	}
	if !n.looked {
		n.looked = true
		if running, err := runningID(); err == nil && running == id && n.opt.Kernel != nil {
			if k, ok := n.opt.Kernel.Moved(n.symbol, n.addr); ok {
				return k, true
			}
		}
		for _, path := range dso.KernelFiles(n.opt.debugDirs(), id, n.opt.Recording.OSRelease) {
			if dso.FileBuildID(path) != id {
				continue
			}
			if k, ok := take(path); ok {
				return k, true
			}
		}
		for _, path := range dso.PlainFiles(n.opt.Servers.Plain, n.opt.Expired)[id] {
			if k, ok := take(path); ok {
				return k, true
			}
		}
	}
	if n.fetch == nil {
		return nil, true
	}
	path, over := n.fetch.Path(id, dso.DebugInfo)
	if path == "" {
		return nil, over
	}
	k, ok := take(path)
	if !ok {
		n.say("the file of the kernel that came from debuginfod has no symbols of functions")
	}
	return k, true
}

// moved reads the record of the kernel's own mapping, in which perf writes the
// name and the address of a symbol.
func (n *Namer) moved(e *event.Event) {
	m, ok := perf.DecodeMmap(e)
	if !ok || !m.Kernel {
		return
	}
	if name, ok := strings.CutPrefix(m.Name, kernelName); ok && name != "" {
		if len(m.BuildID) > 0 {
			n.id = hex.EncodeToString(m.BuildID)
		}
		n.symbol, n.addr = name, m.Pgoff
		if addr, ok := n.kernel.Address(name); ok && addr != m.Pgoff {
			n.foreign = true
		}
	}
}
