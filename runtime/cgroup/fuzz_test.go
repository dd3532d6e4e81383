package cgroup

import (
	"strings"
	"testing"
)

// Whatever a path is, what is told of it is a part of it, and a container's ids are whole.
func FuzzParse(f *testing.F) {
	for _, path := range []string{
		"/", "", "//", "/docker/" + id,
		"/system.slice/docker-" + id + ".scope",
		"/lxc.payload.", "/lxc/web",
		"/kubepods.slice/kubepods-pod" + uidUnit + ".slice/cri-containerd-" + id + ".scope", "/a:b:" + id,
		"/machine.slice/machine-deb\\x2d1.scope", "/machine-\\x.scope",
		"/machine-libpod_pod_" + id + ".slice",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		facts := Parse(path)
		dashed := strings.ReplaceAll(path, "_", "-")
		switch {
		case facts.Path != path || facts.Unknown:
			t.Errorf("got %+v", facts)
		case facts.Unit != "" && !strings.Contains(path, facts.Unit),
			facts.Pod != "" && !strings.Contains(dashed, facts.Pod),
			isID(facts.Container) && !strings.Contains(path, facts.Container):
			t.Errorf("%q: got %+v, which is no part of it", path, facts)
		}
	})
}
