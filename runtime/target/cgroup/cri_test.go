package cgroup

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit/criserver"
)

// Names of a runtime's own list: of containers that run and that have ended, of a pod's own
// container, and of pods, also after the runtime has gone.
func TestNamesOfCRI(t *testing.T) {
	s := &criserver.Server{Pods: []*criserver.PodSandbox{criserver.Pod(hex64("5a"), uid, "shop", "cart-0")}}
	s.Containers = append(s.Containers,
		criserver.Container(hex64("c1"), hex64("5a"), "app", criserver.Running),
		criserver.Container(hex64("c2"), hex64("5a"), "init", criserver.Exited))
	want := map[string]string{hex64("c1"): "app", hex64("c2"): "init", hex64("5a"): "POD", uid: "shop/cart-0",
		hex64("c3"): ""}
	check := func(t *testing.T, n *Names) {
		t.Helper()
		for id, name := range want {
			if got, ok := n.Name(id); got != name || ok != (name != "") {
				t.Errorf("%s: got %q, %v, want %q", id, got, ok, name)
			}
		}
	}
	t.Run("at its usual place", func(t *testing.T) {
		root := files(t, map[string]string{"/run/containerd/here": ""})
		stop := s.Start(t, filepath.Join(root, "/run/containerd/containerd.sock"))
		n := OpenNames(NameSources{Root: root})
		defer n.Close()
		before := s.Requests.Load()
		n.See(&Facts{Container: hex64("c1"), Pod: uid})
		n.Await(5 * time.Second)
		check(t, n)
		if asked := s.Requests.Load() - before; asked != 1 {
			t.Errorf("got %d questions for names that one answer has, want 1", asked)
		}
		stop()
		check(t, n)
	})
	t.Run("where the user says", func(t *testing.T) {
		socket := filepath.Join(t.TempDir(), "sock")
		s.Start(t, socket)
		n := OpenNames(NameSources{Root: t.TempDir(), CRI: socket})
		defer n.Close()
		check(t, n)
		if err := n.Trouble(); err != nil {
			t.Errorf("got %v of a runtime that answers", err)
		}
	})
	t.Run("nowhere", func(t *testing.T) {
		root := files(t, map[string]string{"/run/containerd/here": ""})
		s.Start(t, filepath.Join(root, "/run/containerd/containerd.sock"))
		n := OpenNames(NameSources{Root: root, CRI: NoSocket})
		defer n.Close()
		before := s.Requests.Load()
		if got, ok := n.Name(hex64("c1")); ok || s.Requests.Load() != before {
			t.Errorf("got %q, and %d questions", got, s.Requests.Load()-before)
		}
	})
}

// A runtime that stalls holds up nobody: others tell their names meanwhile, it is asked once, and
// the end does not wait for it.
func TestRuntimeThatStalls(t *testing.T) {
	root := files(t, map[string]string{"/run/containerd/here": "", "/run/crio/here": "",
		"/var/lib/docker/containers/" + hex64("d1") + "/config.v2.json": `{"Name":"/web"}`})
	slow := &criserver.Server{Stalls: true}
	slow.Start(t, filepath.Join(root, "/run/containerd/containerd.sock"))
	fast := &criserver.Server{}
	fast.Containers = append(fast.Containers, criserver.Container(hex64("c1"), "", "app", criserver.Running))
	fast.Start(t, filepath.Join(root, "/run/crio/crio.sock"))
	// One that accepts, and says nothing at all.
	mute, err := net.Listen("unix", filepath.Join(root, "/run/docker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	n := OpenNames(NameSources{Root: root})
	n.every, n.answer = 0, 100*time.Millisecond
	// A goroutine of its own asks; a caller that wants a name waits for a moment only.
	n.See(&Facts{Container: hex64("c9")})
	n.Name(hex64("c9"))
	n.Await(10 * time.Second)
	for id, want := range map[string]string{hex64("d1"): "web", hex64("c1"): "app"} {
		if got, _ := n.Name(id); got != want {
			t.Errorf("beside one that stalls: got %q, want %q", got, want)
		}
	}
	n.mu.Lock()
	if len(n.stalls.until) != 2 {
		t.Errorf("got %v, want the two that stall to be left alone", n.stalls.until)
	}
	n.stalls.until, n.answer = nil, time.Hour
	n.mu.Unlock()
	// Neither this nor the end waits for an answer.
	n.See(&Facts{Container: hex64("c8")})
	n.Close()
}

// A name that is unknown at first, since the cgroup is there before the container, is known later.
func TestNamesThatComeLater(t *testing.T) {
	root := files(t, map[string]string{"/run/crio/here": ""})
	n := OpenNames(NameSources{Root: root})
	defer n.Close()
	n.every = time.Millisecond
	if got, ok := n.Name(uid); ok {
		t.Fatalf("got %q, want no name", got)
	}
	s := &criserver.Server{Pods: []*criserver.PodSandbox{criserver.Pod(hex64("5a"), uid, "shop", "cart-0")}}
	s.Start(t, filepath.Join(root, "/run/crio/crio.sock"))
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(time.Millisecond) {
		if got, ok := n.Name(uid); ok {
			if got != "shop/cart-0" {
				t.Errorf("got %q, want shop/cart-0", got)
			}
			return
		}
	}
	t.Error("got no name, want that of the pod that came")
}

// What is wrong with the socket that the user named is told: of names, and of a target.
func TestTroubleOfNamedSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	os.WriteFile(socket, nil, 0o600)
	n := OpenNames(NameSources{Root: t.TempDir(), CRI: socket})
	defer n.Close()
	n.Name(hex64("c1"))
	if err := n.Trouble(); err == nil || !strings.Contains(err.Error(), "ask for names "+socket) {
		t.Errorf("got %v, want what is wrong with %s", err, socket)
	}
	_, _, err = findIn(Container, "web", n, kernel.Mounts{Cgroup2: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), socket) {
		t.Errorf("target: got %v, want what is wrong with %s", err, socket)
	}
}
