package whyfacts

import (
	"strings"
	"time"

	"ppscript/runtime/result"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/target/cgroup"
	"ppscript/runtime/why"
)

// This file tells the cgroups of threads.

const (
	// fresh is how long it is believed in which cgroup a thread is: threads are moved now and then.
	fresh = time.Second
	// mostThreads bounds the threads that are remembered; beyond it all are asked anew.
	mostThreads = 1 << 13
)

// groups are the cgroups of threads that run here.
type groups struct {
	names   *cgroup.Names // nil: nobody is asked
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

// of is the cgroup of a thread; that of one that has ended is known if it was asked for before.
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

// What a cgroup is called, before a name or an id.
const (
	container = "container "
	pod       = "pod "
)

// called is a cgroup as people read it: the container, the pod, the unit that it is, else its path.
// Containers and pods have their ids, which Name makes names.
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

// Name gives the containers and pods of a result their names. It may wait a moment for them.
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
