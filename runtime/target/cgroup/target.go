package cgroup

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// This file finds the cgroups of a container, a pod or a unit that the user names.

// A Kind says whether a name is of a container, a pod or a unit.
type Kind uint8

const (
	Container Kind = iota // by its name, its id, or the first digits of that
	Pod                   // NAMESPACE/NAME, or its uid
	Unit                  // a systemd unit; .service may be left out
)

func (k Kind) String() string { return [...]string{"container", "pod", "unit"}[k] }

// hints are the commands that list the existing names, by Kind.
var hints = [...]string{
	"docker ps, podman ps or crictl ps", "kubectl get pods -A or crictl pods", "systemctl list-units",
}

// fewDigits is the smallest number of digits that identifies a container.
const fewDigits = 4

// targetPatience is the longest wait for the names of all containers, when a user named one.
const targetPatience = 3 * time.Second

// Found has the targets that names stand for. Events can be opened only for cgroups of the
// hierarchy of perf_event. With version 1, systemd's units are in another hierarchy: their
// processes are observed instead.
type Found struct {
	Cgroups []string // names for Dirs
	// Processes are the processes that are now in cgroups of other hierarchies; Names are the names
	// of these targets.
	Processes []int
	Names     []string
}

// Targets finds the targets for texts; each text has one or more names of a kind, separated by
// commas.
func Targets(kind Kind, texts []string, a NameSources) (f Found, err error) {
	names := OpenNames(a)
	defer names.Close()
	for name := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		root, paths, err := Find(kind, name, names)
		if err != nil {
			return f, err
		}
		if root == "" {
			for _, path := range paths {
				f.Cgroups = append(f.Cgroups, Pattern(path))
			}
			continue
		}
		pids := processesIn(root, paths)
		if len(pids) == 0 {
			return f, diag.Errorf(diag.Attach, "attach", kind.String()+" "+name, "it has no process now").
				WithHint("start it, and then observe its processes: its cgroup is one of version 1, in %s", root)
		}
		f.Processes, f.Names = append(f.Processes, pids...), append(f.Names, name)
	}
	slices.Sort(f.Processes)
	f.Processes = slices.Compact(f.Processes)
	return f, nil
}

// Find returns the paths of the cgroups for a name. A cgroup includes all cgroups below it, so
// these are not listed. root is "" if the paths are in the hierarchy of perf_event, else the
// mount point of the hierarchy of version 1 that has them.
func Find(kind Kind, name string, names *Names) (root string, paths []string, err error) {
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil {
		return "", nil, err
	}
	if mounts.PerfCgroup() == "" && len(mounts.OthersV1) == 0 {
		_, _, err := Dirs(nil) // it says what is missing
		return "", nil, err
	}
	return findIn(kind, name, names, mounts)
}

// findIn searches the hierarchies, one after another, until one has a cgroup for the
// name.
func findIn(kind Kind, name string, names *Names, mounts kernel.Mounts) (
	root string, paths []string, err error,
) {
	var roots, known []string
	for _, at := range append([]string{mounts.PerfCgroup()}, mounts.OthersV1...) {
		if at == "" {
			continue
		}
		paths, some, err := (&Table{root: at, from: -1}).find(kind, name, names)
		if err != nil {
			return "", nil, err
		}
		if len(paths) > 0 && at == mounts.PerfCgroup() {
			return "", paths, nil
		}
		if len(paths) > 0 {
			return at, paths, nil
		}
		roots, known = append(roots, at), append(known, some...)
	}
	if names.Trouble() != nil {
		return "", nil, names.Trouble()
	}
	return "", nil, diag.Errorf(diag.Attach, "attach", kind.String()+" "+name, "there is none below %s%s",
		strings.Join(roots, ", "), diag.DidYouMean(name, known)).WithHint("list them with: %s", hints[kind])
}

// processesIn lists the processes that are in cgroups of a hierarchy of version 1, or below
// them.
func processesIn(root string, paths []string) (pids []int) {
	for _, path := range paths {
		filepath.WalkDir(filepath.Join(root, path), func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil // one that vanished while we walk
			}
			text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			for _, word := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(word); err == nil && pid > 0 { // 0: in another namespace
					pids = append(pids, pid)
				}
			}
			return nil
		})
	}
	return pids
}

// find returns the paths of the cgroups for a name in this hierarchy. If there are none,
// known lists the names of this kind that the hierarchy has.
func (t *Table) find(kind Kind, name string, names *Names) (paths, known []string, err error) {
	if kind != Unit {
		t.walk(func(path string, _ uint64) bool {
			f := Parse(path)
			names.See(&f)
			return true
		})
		names.Await(targetPatience)
	}
	ids := map[string]bool{} // ids of the containers or pods with that name
	t.walk(func(path string, _ uint64) bool {
		f := Parse(path)
		id := ""
		switch kind {
		case Container:
			id = f.Container
		case Pod:
			id = f.Pod
		case Unit:
			id = lastUnit(path)
		}
		if id == "" {
			return true
		}
		called, _ := "", false
		if kind != Unit {
			called, _ = names.Name(id)
		}
		if !slices.Contains(known, id) {
			known = append(known, id)
			if called != "" {
				known = append(known, called)
			}
		}
		if !means(kind, name, id, called) {
			return true
		}
		ids[id] = true
		if !slices.ContainsFunc(paths, func(top string) bool { return strings.HasPrefix(path, top+"/") }) {
			paths = append(paths, path)
		}
		return true
	})
	if len(ids) > 1 && kind != Unit {
		return nil, nil, diag.Errorf(diag.Attach, "attach", kind.String()+" "+name, "means %d of them: %s",
			len(ids), strings.Join(slices.Sorted(maps.Keys(ids)), ", ")).
			WithHint("give more of the id, or the namespace")
	}
	return paths, known, nil
}

// lastUnit is the unit or slice at the end of a path; "" if there is none.
func lastUnit(path string) string {
	part := strings.TrimPrefix(path[strings.LastIndexByte(path, '/')+1:], "_")
	for _, kind := range append([]string{".slice"}, unitKinds...) {
		if name, ok := strings.CutSuffix(part, kind); ok && name != "" {
			return part
		}
	}
	return ""
}

// means reports whether the name that a user wrote denotes the target with this id and this name.
func means(kind Kind, name, id, called string) bool {
	switch {
	case name == id, called != "" && name == called:
		return true
	case kind == Unit:
		return name+".service" == id
	case kind == Pod:
		_, rest, ok := strings.Cut(called, "/")
		return ok && name == rest
	}
	return len(name) >= fewDigits && isID(id) && strings.HasPrefix(id, name)
}
