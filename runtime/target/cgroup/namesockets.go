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

// This file asks runtimes for names. Docker and podman answer HTTP at a socket, both in the same
// form. containerd and CRI-O answer the calls that the kubelet makes (package cri). The kubelet
// answers at a port of this machine, if an administrator has opened it. The sockets are opened with
// the caller's own rights, since a process that may use them is as good as root. All are asked at
// once; one that does not answer in time is not asked again for stallTime.

// sockets are the paths at which Docker and podman listen.
var sockets = []string{"/run/docker.sock", "/run/podman/podman.sock"}

// criSockets are the paths at which runtimes for the kubelet listen: containerd, CRI-O, k3s,
// k0s, MicroK8s, Docker through cri-dockerd.
var criSockets = []string{
	"/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/k3s/containerd/containerd.sock",
	"/run/k0s/containerd.sock", "/var/snap/microk8s/common/run/containerd.sock", "/run/cri-dockerd.sock",
}

const (
	// answerTime is the longest time that one of them may take to answer.
	answerTime = time.Second
	// askAgain is the shortest time between two requests for all containers.
	askAgain = 2 * time.Second
	// stallTime is the pause after a request that was not answered in time.
	stallTime = 30 * time.Second
)

// Socket reads the value of the option --cri as a NameSources.CRI.
func Socket(text string) (string, error) {
	path := strings.TrimPrefix(text, "unix://")
	if path != NoSocket && !isSocket(path) {
		return "", diag.Errorf(diag.Usage, "option", "--cri", "%s is no socket", path).
			WithHint("write --cri /run/containerd/containerd.sock, or --cri %s", NoSocket)
	}
	return path, nil
}

// stalls holds, by name, until when a runtime is not asked since it did not answer, and the
// error of the socket that the user named.
type stalls struct {
	until   map[string]time.Time
	trouble error
}

// Trouble is the error of the socket that the user named; nil if it answered or was not
// asked.
func (n *Names) Trouble() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stalls.trouble
}

// atSockets finds the name of a container or a pod by asking the runtimes; "" if they do
// not have it. The names of all others in their answers are recorded too.
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

// ask asks all runtimes that have a socket, and waits for their answers.
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

// answered records the outcome of a request.
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

// tell records a name that was found in the answer to another request.
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

// sandbox is the name that the kubelet gives the container that holds the namespaces of a
// pod, with Docker and CRI-O.
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
		// The cgroup of a static pod has the hash of the pod's file for its
		// uid.
		n.tellPod(m.Annotations["kubernetes.io/config.hash"], m.Namespace, m.Name)
		for _, c := range pod.Status.ContainerStatuses {
			if _, id, ok := strings.Cut(c.ContainerID, "://"); ok {
				n.tell(id, c.Name)
			}
		}
	}
	return nil
}

// get requests a URL and decodes the answer from JSON.
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
