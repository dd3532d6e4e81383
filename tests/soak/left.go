package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// This file looks for objects that tracing can leave in the kernel, and for
// files.

// kinds are the kinds of objects that are checked.
var kinds = []string{"programs", "maps", "links", "dynamic probes", "instances of tracefs", "pinned objects",
	"temporary files", "processes"}

// things are existing objects, each with a text that identifies it.
type things map[string]bool

// settle is how long objects may exist after their last use: the kernel frees programs and
// maps when all CPUs have passed a grace period, which takes longer on a busy machine.
const settle = 60 * time.Second

// look lists the existing objects that no process holds.
func look(tmp string) (things, error) {
	found := things{}
	if err := objects(found); err != nil {
		return nil, fmt.Errorf("list the kernel's objects: %w", err)
	}
	for _, fd := range openObjects() {
		delete(found, fd)
	}
	for _, root := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		for _, name := range []string{"kprobe_events", "uprobe_events"} {
			text, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				continue // this kernel has no such directory
			}
			for line := range strings.Lines(string(text)) {
				found["probe "+strings.TrimSpace(line)] = true
			}
		}
		found.entries("instance", filepath.Join(root, "instances"))
	}
	found.entries("pinned object", "/sys/fs/bpf")
	found.entries("file", tmp)
	return found, nil
}

// entries adds the entries of a directory, if it exists.
func (found things) entries(what, dir string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		found[what+" "+filepath.Join(dir, e.Name())] = true
	}
}

// object is the identifying text of a program, map or link of the kernel.
func object(kind string, id uint32) string { return fmt.Sprintf("%s %d", kind, id) }

// objects adds the programs, maps and links of the kernel.
func objects(found things) error {
	for kind, next := range map[string]func(id uint32) (uint32, error){
		"program": func(id uint32) (uint32, error) {
			n, err := ebpf.ProgramGetNextID(ebpf.ProgramID(id))
			return uint32(n), err
		},
		"map": func(id uint32) (uint32, error) {
			n, err := ebpf.MapGetNextID(ebpf.MapID(id))
			return uint32(n), err
		},
	} {
		id, err := next(0)
		for ; err == nil; id, err = next(id) {
			found[object(kind, id)] = true
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	var links link.Iterator
	defer links.Close()
	for links.Next() {
		found[object("link", uint32(links.ID))] = true
	}
	return links.Err()
}

// openObjects lists the kernel objects that processes have open, from fdinfo.
func openObjects() (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/fdinfo/*")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(text, []byte("_id:")) {
			continue
		}
		for line := range strings.Lines(string(text)) {
			for word, kind := range map[string]string{
				"prog_id:": "program", "map_id:": "map", "link_id:": "link",
			} {
				var id uint32
				if rest, ok := strings.CutPrefix(line, word); ok {
					if _, err := fmt.Sscan(rest, &id); err == nil {
						list = append(list, object(kind, id))
					}
				}
			}
		}
	}
	return list
}

// named returns an object's text with the name that its creator gave it.
func named(thing string) string {
	var kind string
	var id uint32
	fmt.Sscan(thing, &kind, &id)
	switch kind {
	case "program":
		if p, err := ebpf.NewProgramFromID(ebpf.ProgramID(id)); err == nil {
			defer p.Close()
			if info, err := p.Info(); err == nil {
				return thing + " " + info.Name
			}
		}
	case "map":
		if m, err := ebpf.NewMapFromID(ebpf.MapID(id)); err == nil {
			defer m.Close()
			if info, err := m.Info(); err == nil {
				return thing + " " + info.Name
			}
		}
	}
	return thing
}

// leftovers returns the objects that did not exist before and do not disappear. Other tracers of
// the machine come and go: their objects are held by them, or disappear with them.
func (before things) leftovers(tmp string) (list []string, err error) {
	var stays things
	for end := time.Now().Add(settle); ; time.Sleep(time.Second) {
		now, err := look(tmp)
		if err != nil {
			return nil, err
		}
		if stays = now.since(before, stays); len(stays) == 0 || time.Now().After(end) {
			break
		}
	}
	for _, x := range stays.sorted() {
		list = append(list, named(x))
	}
	return list, nil
}

// since returns the objects that are new since before and that the last look found too, if
// there was one: objects that appear after the runs have ended belong to other tracers.
func (found things) since(before, last things) things {
	left := things{}
	for x := range found {
		if !before[x] && (last == nil || last[x]) {
			left[x] = true
		}
	}
	return left
}

func (found things) sorted() []string { return slices.Sorted(maps.Keys(found)) }
