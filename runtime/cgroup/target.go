package cgroup

import (
	"slices"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/kernel"
)

// This file finds the cgroups of a container, a pod or a unit that the user names.

// A Kind is what a name is of.
type Kind uint8

const (
	Container Kind = iota // by its name, its id, or the first digits of that
	Pod                   // NAMESPACE/NAME, or its uid
	Unit                  // of systemd; .service may be left out
)

func (k Kind) String() string { return [...]string{"container", "pod", "unit"}[k] }

// hints are commands that list what there is.
var hints = [...]string{
	"docker ps, podman ps or crictl ps", "kubectl get pods -A or crictl pods", "systemctl list-units",
}

// fewDigits is how many digits of an id are enough.
const fewDigits = 4

// Find returns the paths of the cgroups that a name means, without those below others of
// them: a cgroup is its threads and those of all cgroups below it.
func Find(kind Kind, name string, names *Names) (paths []string, err error) {
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil {
		return nil, err
	}
	t := &Table{root: mounts.PerfCgroup(), from: -1}
	if t.root == "" {
		_, _, err := Dirs(nil) // it says what is missing
		return nil, err
	}
	return t.find(kind, name, names, mounts.PerfEventV1 != "")
}

func (t *Table) find(kind Kind, name string, names *Names, legacy bool) (paths []string, err error) {
	ids := map[string]bool{} // that name means
	var known []string
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
	switch {
	case len(paths) == 0:
		e := diag.Errorf(diag.Attach, "attach", kind.String()+" "+name, "there is none below %s%s", t.root,
			diag.DidYouMean(name, known))
		if kind == Unit && legacy {
			return nil, e.WithHint("the hierarchy of perf_event does not have systemd's units here; give the"+
				" processes: -p $(systemctl show -p MainPID --value %s)", name)
		}
		return nil, e.WithHint("list them with: %s", hints[kind])
	case len(ids) > 1 && kind != Unit:
		var list []string
		for id := range ids {
			list = append(list, id)
		}
		slices.Sort(list)
		return nil, diag.Errorf(diag.Attach, "attach", kind.String()+" "+name, "means %d of them: %s",
			len(ids), strings.Join(list, ", ")).WithHint("give more of the id, or the namespace")
	}
	return paths, nil
}

// lastUnit is the unit, or the slice, that a cgroup is; "" if it is none.
func lastUnit(path string) string {
	part := strings.TrimPrefix(path[strings.LastIndexByte(path, '/')+1:], "_")
	for _, kind := range append([]string{".slice"}, unitKinds...) {
		if name, ok := strings.CutSuffix(part, kind); ok && name != "" {
			return part
		}
	}
	return ""
}

// means reports that a user who says name means what has an id and is called so.
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
