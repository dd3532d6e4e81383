package cgroup

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files makes a root directory with files.
func files(t *testing.T, list map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range list {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// hex64 is an id that begins with some digits.
func hex64(begin string) string { return begin + strings.Repeat("0", 64-len(begin)) }

func TestNamesInFiles(t *testing.T) {
	const (
		docker = "/var/lib/docker/containers/"
		tasks  = "/run/containerd/io.containerd.runtime.v2.task/"
		crio   = "/run/containers/storage/overlay-containers/"
	)
	root := files(t, map[string]string{
		docker + hex64("d1") + "/config.v2.json": `{"ID":"x","Name":"/web"}`,
		docker + hex64("d2") + "/config.v2.json": `{
			"Name":"/k8s_dns_coredns-7_kube-system_` + uid + `_0"}`,
		docker + hex64("d3") + "/config.v2.json": `not JSON`,
		tasks + "k8s.io/" + hex64("c1") + "/config.json": `{"annotations":{
			"io.kubernetes.cri.container-name":"app", "io.kubernetes.cri.sandbox-uid":"` + hash + `",
			"io.kubernetes.cri.sandbox-namespace":"shop", "io.kubernetes.cri.sandbox-name":"cart-0"}}`,
		tasks + "default/" + hex64("c2") + "/config.json": `{"annotations":{
			"nerdctl/name":"box"}}`,
		crio + hex64("a1") + "/userdata/config.json": `{"annotations":{
			"io.kubernetes.container.name":"etcd"}}`,
		"/var/lib/containers/storage/overlay-containers/containers.json": `[
			{"id":"` + hex64("b1") + `","names":["db"]},
			{"id":"` + hex64("b2") + `","names":["k8s_proxy_kube-proxy-x_kube-system_u_1"]}]`,
		"/var/log/pods/kube-system_coredns-7_" + uid + "/dns/0.log": "",
	})
	n := OpenNames(NameSources{Root: root})
	n.kubelet = ""
	defer n.Close()
	n.See(&Facts{Container: hex64("c1")}) // tells of its pod as well
	for id, want := range map[string]string{
		hex64("d1"): "web", hex64("d2"): "dns", hex64("d3"): "", hex64("c1"): "app", hex64("c2"): "box",
		hex64("a1"): "etcd", hex64("b1"): "db", hex64("b2"): "proxy", uid: "kube-system/coredns-7",
		hex64("99"): "", "lxc-name": "",
	} {
		if got, ok := n.Name(id); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", id, got, ok, want)
		}
	}
	if got, _ := n.Name(hash); got != "shop/cart-0" {
		t.Errorf("pod of the annotations: got %q, want shop/cart-0", got)
	}
	// Names stay when the container goes.
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{hex64("d1"): "web", hex64("99"): hex64("99")[:12]} {
		if got, ok := n.Show(id); !ok || got != want {
			t.Errorf("%s is shown as %q, want %q", id, got, want)
		}
	}
	if got, ok := n.Show("lxc-name"); ok {
		t.Errorf("a name is shown as %q, want as it is", got)
	}
}

// An engine that lists its containers, as Docker and podman do, and a kubelet.
func TestNamesAtSockets(t *testing.T) {
	root := files(t, map[string]string{"/run/podman/here": "", "/var/lib/kubelet/here": ""})
	listener, err := net.Listen("unix", filepath.Join(root, "/run/podman/podman.sock"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	engine := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.String() != "/containers/json?all=1" {
			t.Errorf("got a request for %s", r.URL)
		}
		json.NewEncoder(w).Encode([]map[string]any{
			{"Id": hex64("e1"), "Names": []string{"/web"}},
			{"Id": hex64("e2"), "Names": []string{"/x"}, "Labels": map[string]string{
				"io.kubernetes.container.name": "app", "io.kubernetes.pod.uid": uid,
				"io.kubernetes.pod.namespace": "shop", "io.kubernetes.pod.name": "cart-0"}},
		})
	})}
	go engine.Serve(listener)
	defer engine.Close()
	kubelet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"items":[{"metadata":{"name":"etcd-node","namespace":"kube-system","uid":"u",
			"annotations":{"kubernetes.io/config.hash":"` + hash + `"}},
			"status":{"containerStatuses":[
				{"name":"etcd","containerID":"containerd://` + hex64("e3") + `"}]}}]}`))
	}))
	defer kubelet.Close()
	n := OpenNames(NameSources{Root: root})
	n.kubelet = kubelet.URL
	defer n.Close()
	for _, c := range [][2]string{
		{hex64("e1"), "web"}, {hex64("e2"), "app"}, {uid, "shop/cart-0"}, {hash, "kube-system/etcd-node"},
		{hex64("e3"), "etcd"}, {hex64("e4"), ""},
	} {
		if got, _ := n.Name(c[0]); got != c[1] {
			t.Errorf("%s: got %q, want %q", c[0], got, c[1])
		}
	}
	if asked != 1 {
		t.Errorf("got %d questions for names that one answer has, want 1", asked)
	}
}
