package session

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/object"
	"ppscript/runtime/perf"
	"ppscript/runtime/symbol"
	"ppscript/runtime/task"
)

// This file finds out whether the kernel of a recording is the one that runs:
// its symbols are read from this machine, and those of another kernel, or of
// the same one after it was loaded elsewhere, would be plausible and wrong.

// foreignKernel reports that the recording is of another kernel, as far as its
// head tells.
func (w *world) foreignKernel() bool {
	if w.file == nil {
		return false
	}
	info := w.file.Info()
	for _, b := range info.BuildIDs {
		if b.Kernel && strings.HasPrefix(b.Path, "[kernel.kallsyms]") {
			notes, err := os.ReadFile("/sys/kernel/notes")
			return err == nil && hex.EncodeToString(b.ID) != kernelBuildID(notes)
		}
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	return err == nil && info.OSRelease != "" && info.OSRelease != strings.TrimSpace(string(release))
}

// mappings are the options for following what processes map, and for finding the
// files: those of a recording are looked for by path and build-id.
func (r *run) mappings(foreign bool) task.MappingsOptions {
	o := object.Options{SysRoot: r.cfg.Options.SymRoot, DebugDirs: r.debugDirs(), Expired: r.patience.expired, Note: r.note}
	if r.world.file == nil {
		return task.MappingsOptions{Files: object.NewStore(o)}
	}
	o.NoProc, o.SameKernel, o.BuildIDs = true, !foreign, map[string]string{}
	for _, b := range r.world.file.Info().BuildIDs {
		if !b.Kernel {
			o.BuildIDs[b.Path] = hex.EncodeToString(b.ID)
		}
	}
	return task.MappingsOptions{NoProc: true, Files: object.NewStore(o)}
}

// debugDirs are where files are found by build-id.
func (r *run) debugDirs() []string {
	return append(slices.Clone(r.cfg.Options.DebugDirs), object.UsualDebugDirs()...)
}

// cachedKernel finds the symbols of a recording's kernel among those that were
// cached, and reports whether they are used from now on.
func (r *run) cachedKernel() bool {
	w := r.world
	for _, b := range w.file.Info().BuildIDs {
		if !b.Kernel || !strings.HasPrefix(b.Path, "[kernel.kallsyms]") {
			continue
		}
		if path := object.Cached(r.debugDirs(), hex.EncodeToString(b.ID), "kallsyms"); path != "" {
			if k := symbol.NewKernel(path); k.Err() == nil {
				w.symbols = k
				return true
			}
		}
	}
	return false
}

// kernelID is the build-id of the kernel of the events, "" if it is not known.
func (w *world) kernelID() string {
	if w.file == nil {
		notes, err := os.ReadFile("/sys/kernel/notes")
		if err != nil {
			return ""
		}
		return kernelBuildID(notes)
	}
	for _, b := range w.file.Info().BuildIDs {
		if b.Kernel && strings.HasPrefix(b.Path, "[kernel.kallsyms]") {
			return hex.EncodeToString(b.ID)
		}
	}
	return ""
}

// kernelBuildID is the build-id in the notes of a kernel.
func kernelBuildID(notes []byte) string { return object.NoteBuildID(notes, binary.LittleEndian, 4) }

// moved looks at the record of the kernel's own mapping: perf writes the
// address that a symbol had behind the symbol's name.
func (w *stackWorld) moved(e *event.Event) {
	m, ok := perf.DecodeMmap(e)
	if !ok || !m.Kernel {
		return
	}
	if name, ok := strings.CutPrefix(m.Name, "[kernel.kallsyms]"); ok && name != "" {
		if addr, ok := w.world.symbols.Address(name); ok && addr != m.Pgoff {
			w.foreign = true
		}
	}
}
