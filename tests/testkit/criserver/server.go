// Package criserver is a stand-in for a container runtime in tests: it lists pods and containers
// by the kubelet's protocol. It uses the protocol's own library, which ppscript itself does not
// use.
package criserver

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A PodSandbox is a pod in the protocol.
type PodSandbox = runtime.PodSandbox

// A Server answers with its pods and containers, or fails. Its members are set before it
// is started.
type Server struct {
	runtime.UnimplementedRuntimeServiceServer

	Pods       []*runtime.PodSandbox
	Containers []*runtime.Container
	// Err is the error that it answers instead; nil for none.
	Err error
	// Stalls makes it accept calls without an answer.
	Stalls bool
	// Old makes it speak only the protocol's version before 2022.
	Old bool

	// Requests counts lists of containers.
	Requests atomic.Int64
}

// Start makes s listen at a socket until the test ends or stop is called.
func (s *Server) Start(t testing.TB, socket string) (stop func()) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	desc := runtime.RuntimeService_ServiceDesc
	if s.Old {
		desc.ServiceName = "runtime.v1alpha2.RuntimeService"
	}
	g.RegisterService(&desc, s)
	done := make(chan error)
	go func() { done <- g.Serve(l) }()
	var stopped atomic.Bool
	stop = func() {
		if !stopped.Swap(true) {
			g.Stop()
			<-done
		}
	}
	t.Cleanup(stop)
	return stop
}

// Pod returns a pod's sandbox with all members that runtimes set.
func Pod(id, uid, namespace, name string) *runtime.PodSandbox {
	return &runtime.PodSandbox{
		Id: id, Metadata: &runtime.PodSandboxMetadata{Name: name, Uid: uid, Namespace: namespace, Attempt: 3},
		State: runtime.PodSandboxState_SANDBOX_NOTREADY, CreatedAt: 1_700_000_000_000_000_000,
		Labels:         map[string]string{"io.kubernetes.pod.uid": uid, "app": "x"},
		Annotations:    map[string]string{"kubernetes.io/config.source": "file"},
		RuntimeHandler: "runc",
	}
}

// Container returns a container of a pod with all members that runtimes set.
func Container(id, pod, name string, state runtime.ContainerState) *runtime.Container {
	return &runtime.Container{
		Id: id, PodSandboxId: pod, Metadata: &runtime.ContainerMetadata{Name: name, Attempt: 7},
		Image: &runtime.ImageSpec{Image: "example.org/" + name, Annotations: map[string]string{"a": "b"}},
		State: state, ImageRef: "sha256:x", CreatedAt: 1_700_000_000_000_000_000,
		Labels:      map[string]string{"io.kubernetes.container.name": name},
		Annotations: map[string]string{"io.kubernetes.container.hash": "1"},
	}
}

// Exited is the state of containers that have ended.
const Exited = runtime.ContainerState_CONTAINER_EXITED

// Running is the state of other containers.
const Running = runtime.ContainerState_CONTAINER_RUNNING

func (s *Server) wait(ctx context.Context) error {
	if s.Stalls {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Err
}

// ListPodSandbox implements the service.
func (s *Server) ListPodSandbox(ctx context.Context, _ *runtime.ListPodSandboxRequest) (
	*runtime.ListPodSandboxResponse, error) {
	return &runtime.ListPodSandboxResponse{Items: s.Pods}, s.wait(ctx)
}

// ListContainers implements the service.
func (s *Server) ListContainers(ctx context.Context, _ *runtime.ListContainersRequest) (
	*runtime.ListContainersResponse, error) {
	s.Requests.Add(1)
	return &runtime.ListContainersResponse{Containers: s.Containers}, s.wait(ctx)
}
