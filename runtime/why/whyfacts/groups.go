package whyfacts

import (
	"strings"
	"time"

	"ppscript/runtime/result"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/target/cgroup"
	"ppscript/runtime/why"
)

// This file finds the cgroups of threads.

const (
	// fresh is the time for which a thread's cgroup is cached, since threads can be moved.
	fresh = time.Second
	// mostThreads bounds the cached threads; beyond it the cache is cleared.
	mostThreads = 1 << 13
)

// groups finds the cgroups of threads on this machine.
type groups struct {
	names   *cgroup.Names // nil: no runtime is asked
	roots   kernel.Roots
	members map[int32]membership
}

type membership struct {
	why.Cgroup
	at time.Time
}

func (g *groups) open(asked cgroup.NameSources) {
	g.names, g.members = cgroup.OpenNames(asked), map[int32]membership{}
}

func (g *groups) close() {
	if g.names != nil {
		g.names.Close()
	}
}

// of returns the cgroup of a thread. For a thread that has ended, it is known only if it is in
// the cache.
func (g *groups) of(tid int32) why.Cgroup {
	now := time.Now()
	have, known := g.members[tid]
	if known && now.Sub(have.at) < fresh {
		return have.Cgroup
	}
	if path, facts, ok := cgroup.OfThread(g.roots, tid); ok {
		if g.names != nil {
			g.names.See(&facts)
		}
		facts.Path = path
		have.Cgroup = why.Cgroup{Path: path, Name: g.called(&facts)}
	}
	have.at = now
	if len(g.members) >= mostThreads {
		clear(g.members)
	}
	g.members[tid] = have
	return have.Cgroup
}

// Prefixes of the names of cgroups, before a name or an id.
const (
	container = "container "
	pod       = "pod "
)

// called returns the name of a cgroup for people: the container, the pod or the unit, else its
// path. Containers and pods are shown by their ids, which Name replaces by names.
func (g *groups) called(f *cgroup.Facts) string {
	switch {
	case f.Container != "":
		return container + f.Container
	case f.Pod != "":
		return pod + f.Pod
	case f.Unit != "":
		return "unit " + f.Unit
	}
	return "cgroup " + f.Path
}

// Name replaces the ids of containers and pods in a result by their names. It may wait a
// short time for them.
func (s *Source) Name(w *result.Why) {
	shown := map[string]string{}
	for i := range w.Causes {
		s.groups.name(shown, w.Causes[i].Path)
	}
	for _, span := range w.Slowest {
		for i := range span.Parts {
			s.groups.name(shown, span.Parts[i].Path)
		}
	}
}

func (g *groups) name(shown map[string]string, path []result.WhyLink) {
	for i := range path {
		of := path[i].Cgroup
		if !strings.HasPrefix(of, container) && !strings.HasPrefix(of, pod) {
			continue
		}
		text, known := shown[of]
		if !known {
			kind, id, _ := strings.Cut(of, " ")
			text = of
			if name, ok := g.names.Show(id); ok {
				text = kind + " " + name
			}
			shown[of] = text
		}
		path[i].Cgroup = text
	}
}
