package cgroup

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// This file asks runtimes for names. Docker and podman answer plain HTTP at a socket, both
// in the same form; the kubelet at a port of this machine, where an administrator has
// opened it. The sockets are opened with the caller's own rights: who may talk to them is
// as good as root.

// sockets are where Docker and podman listen.
var sockets = []string{"/run/docker.sock", "/run/podman/podman.sock"}

// answerTime bounds how long one of them may take.
const answerTime = time.Second

// askAgain is how often they are asked for all of their containers at most.
const askAgain = 2 * time.Second

// atSockets is the name of a container or a pod as runtimes tell it; "" if they do not. The
// answer has all others too, which are then known.
func (n *Names) atSockets(id string) string {
	if now := time.Now(); now.Sub(n.listed) >= askAgain {
		n.listed = now
		for _, path := range sockets {
			n.askEngine(filepath.Join(n.root, "/", path))
		}
		n.askKubelet()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.names[id]; p != nil {
		return p.name
	}
	return ""
}

// tell notes a name that somebody else may ask for.
func (n *Names) tell(id, name string) {
	if id == "" || name == "" {
		return
	}
	n.mu.Lock()
	p := n.names[id]
	if p == nil {
		if len(n.names) >= mostNames {
			n.mu.Unlock()
			return
		}
		p = &pending{ready: make(chan struct{})}
		n.names[id] = p
	}
	n.mu.Unlock()
	n.settle(p, clean(name))
}

// askEngine asks Docker or podman for all containers.
func (n *Names) askEngine(path string) {
	if st, err := os.Stat(path); err != nil || st.Mode()&os.ModeSocket == 0 {
		return
	}
	client := http.Client{Timeout: answerTime, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	var list []struct {
		ID     string `json:"Id"`
		Names  []string
		Labels map[string]string
	}
	if !get(&client, "http://engine/containers/json?all=1", &list) {
		return
	}
	for _, c := range list {
		name := c.Labels["io.kubernetes.container.name"]
		if name == "" && len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		n.tell(c.ID, name)
		n.tellPod(c.Labels["io.kubernetes.pod.uid"], c.Labels["io.kubernetes.pod.namespace"],
			c.Labels["io.kubernetes.pod.name"])
	}
}

// askKubelet asks the kubelet for the pods of this node.
func (n *Names) askKubelet() {
	if st, err := os.Stat(filepath.Join(n.root, "/var/lib/kubelet")); err != nil || !st.IsDir() {
		return
	}
	var answer struct {
		Items []struct {
			Metadata struct {
				Name, Namespace, UID string
				Annotations          map[string]string
			}
			Status struct {
				ContainerStatuses []struct{ Name, ContainerID string }
			}
		}
	}
	if !get(&http.Client{Timeout: answerTime}, n.kubelet, &answer) {
		return
	}
	for _, pod := range answer.Items {
		m := pod.Metadata
		n.tellPod(m.UID, m.Namespace, m.Name)
		// The cgroup of a pod that a file describes has the hash of the file.
		n.tellPod(m.Annotations["kubernetes.io/config.hash"], m.Namespace, m.Name)
		for _, c := range pod.Status.ContainerStatuses {
			if _, id, ok := strings.Cut(c.ContainerID, "://"); ok {
				n.tell(id, c.Name)
			}
		}
	}
}

// get reads a JSON answer.
func get(client *http.Client, url string, into any) bool {
	r, err := client.Get(url)
	if err != nil {
		return false
	}
	defer r.Body.Close()
	return r.StatusCode == http.StatusOK &&
		json.NewDecoder(io.LimitReader(r.Body, mostBytes)).Decode(into) == nil
}
