package cgroup

import (
	"os"
	"path/filepath"
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

// The files of Docker, containerd, CRI-O and podman hold text that the container's creator
// chose: any JSON gives a name that is harmless, or none.
func FuzzNames(f *testing.F) {
	f.Add([]byte(`{"Name":"/web","annotations":{"io.kubernetes.cri.container-name":"a\u001b[2J"}}`))
	f.Add([]byte(`{"annotations":{"io.kubernetes.pod.uid":"u","io.kubernetes.pod.namespace":"n",` +
		`"io.kubernetes.pod.name":"p"}}`))
	f.Add([]byte(`[{"id":"` + id + `","names":["k8s_c_p_n_u_0"]}]`))
	f.Add([]byte(`[{"id":"` + id + `","names":[]},null,3]`))
	dir := f.TempDir()
	files := []string{"/var/lib/docker/containers/" + id + "/config.v2.json", stores[0]}
	for _, c := range configs {
		files = append(files, strings.Replace(c, "*", id, 1))
	}
	for _, name := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			f.Fatal(err)
		}
	}
	n := OpenNames(NameSources{Root: dir})
	f.Cleanup(n.Close)
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range files {
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			got := n.inFiles(id)
			// A byte that is no text is shown by a character of three.
			if got != clean(got) || len(got) > 3*len(text) {
				t.Errorf("%s of %q: got %q", name, text, got)
			}
			os.Remove(file)
		}
	})
}

// /proc/PID/cgroup is the kernel's, but cgroups are named by their users.
func FuzzProcessCgroups(f *testing.F) {
	f.Add("12:perf_event:/docker/" + id + "\n1:name=systemd:/system.slice/a.service\n0::/\n")
	f.Add("0::/../x (deleted)\n:::\n0::")
	f.Fuzz(func(t *testing.T, text string) {
		for _, have := range []Facts{{}, {Path: "/a"}, {Unknown: true}} {
			whole := merge(&have, text)
			if have.Path != "" && whole.Path != have.Path || whole.Unknown {
				t.Errorf("%q: got %+v", text, whole)
			}
		}
	})
}
