package cgroup

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"ppscript/runtime/target/cri"
	"ppscript/runtime/text/diag"
)

// This file asks runtimes for names. Docker and podman answer plain HTTP at a socket, both
// in the same form; containerd and CRI-O the calls of the kubelet (package cri); the kubelet at
// a port of this machine, where an administrator has opened it. The sockets are opened with the
// caller's own rights: a process that may talk to them is as good as root. All are asked at once, and one
// that stalls is left alone for a while.

// sockets are where Docker and podman listen.
var sockets = []string{"/run/docker.sock", "/run/podman/podman.sock"}

// criSockets are where runtimes listen that the kubelet talks to: containerd, CRI-O, k3s, k0s,
// MicroK8s, Docker by cri-dockerd.
var criSockets = []string{
	"/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/k3s/containerd/containerd.sock",
	"/run/k0s/containerd.sock", "/var/snap/microk8s/common/run/containerd.sock", "/run/cri-dockerd.sock",
}

const (
	// answerTime bounds how long one of them may take.
	answerTime = time.Second
	// askAgain is how often they are asked for all of their containers at most.
	askAgain = 2 * time.Second
	// stallTime is how long one that did not answer in time is not asked.
	stallTime = 30 * time.Second
)

// Socket reads an Asked.CRI as users write it.
func Socket(text string) (string, error) {
	path := strings.TrimPrefix(text, "unix://")
	if path != NoSocket && !isSocket(path) {
		return "", diag.Errorf(diag.Usage, "option", "--cri", "%s is no socket", path).
			WithHint("write --cri /run/containerd/containerd.sock, or --cri %s", NoSocket)
	}
	return path, nil
}

// stalls are those that did not answer, and what is wrong with the one that the user named.
type stalls struct {
	until   map[string]time.Time
	trouble error
}

// Trouble is why the socket that the user named tells no names; nil if it did, or was not
// asked.
func (n *Names) Trouble() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stalls.trouble
}

// atSockets is the name of a container or a pod as runtimes tell it; "" if they do not. The
// answer has all others too, which are then known.
func (n *Names) atSockets(id string) string {
	if now := time.Now(); now.Sub(n.listed) >= n.every {
		n.listed = now
		n.ask()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.names[id]; p != nil {
		return p.name
	}
	return ""
}

// ask asks all that are there, and waits for them.
func (n *Names) ask() {
	var wg sync.WaitGroup
	defer wg.Wait()
	each := func(name string, how func(ctx context.Context) error) {
		n.mu.Lock()
		stalled := time.Now().Before(n.stalls.until[name])
		n.mu.Unlock()
		if stalled {
			return
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(n.ctx, n.answer)
			defer cancel()
			n.answered(name, how(ctx), ctx.Err() != nil)
		})
	}
	switch n.sources.CRI {
	case NoSocket:
		return
	case "":
	default:
		path := n.sources.CRI
		each(path, func(ctx context.Context) error { return n.askCRI(ctx, path) })
		return
	}
	for _, name := range sockets {
		if path := n.path(name); isSocket(path) {
			each(path, func(ctx context.Context) error { return n.askEngine(ctx, path) })
		}
	}
	for _, name := range criSockets {
		if path := n.path(name); isSocket(path) {
			each(path, func(ctx context.Context) error { return n.askCRI(ctx, path) })
		}
	}
	if st, err := os.Stat(n.path("/var/lib/kubelet")); err == nil && st.IsDir() {
		each(n.kubelet, n.askKubelet)
	}
}

func isSocket(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode()&os.ModeSocket != 0
}

// answered notes how one of them answered.
func (n *Names) answered(name string, err error, stalled bool) {
	if n.ctx.Err() != nil {
		return // it is over
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if name == n.sources.CRI {
		n.stalls.trouble = err
	}
	if !stalled {
		return
	}
	if n.stalls.until == nil {
		n.stalls.until = map[string]time.Time{}
	}
	n.stalls.until[name] = time.Now().Add(stallTime)
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
func (n *Names) askEngine(ctx context.Context, path string) error {
	client := http.Client{Transport: &http.Transport{
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
	if err := get(ctx, &client, "http://engine/containers/json?all=1", &list); err != nil {
		return err
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
	return nil
}

// sandbox is the name of the container that holds the namespaces of a pod, as the kubelet has
// Docker and CRI-O call it.
const sandbox = "POD"

// askCRI asks a runtime for all pods and containers.
func (n *Names) askCRI(ctx context.Context, path string) error {
	a, err := cri.Ask(ctx, path)
	if err != nil {
		return err
	}
	for _, p := range a.Pods {
		n.tell(p.ID, sandbox)
		n.tellPod(p.UID, p.Namespace, p.Name)
	}
	for _, c := range a.Containers {
		n.tell(c.ID, c.Name)
	}
	return nil
}

// askKubelet asks the kubelet for the pods of this node.
func (n *Names) askKubelet(ctx context.Context) error {
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
	if err := get(ctx, http.DefaultClient, n.kubelet, &answer); err != nil {
		return err
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
	return nil
}

// get reads a JSON answer.
func get(ctx context.Context, client *http.Client, url string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, mostBytes)).Decode(into)
}
