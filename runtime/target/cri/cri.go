// Package cri asks a runtime of containers for its pods and containers, at the socket where
// the kubelet talks to it: containerd, CRI-O, cri-dockerd.
//
//	a, err := cri.Ask(ctx, "/run/containerd/containerd.sock")
//	a.Pods         // UID, NAMESPACE/NAME
//	a.Containers   // ID, NAME; also ended ones, as long as the runtime keeps them
//
// The protocol is gRPC: a POST over HTTP/2 with one protobuf message in each direction. The
// package makes two calls without arguments and reads a few texts of the answers, which needs
// neither a gRPC nor a protobuf library. It never calls anything else, since access to a
// runtime's socket is as good as root. Package cgroup calls it from a goroutine of its own.
// Answers are bounded in size and time, and are not trusted.
package cri

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"ppscript/runtime/text/diag"
)

// A Pod is a pod of Kubernetes. The runtime has a sandbox for each, a container
// that holds its namespaces.
type Pod struct {
	// ID is the id of the sandbox and of its container.
	ID string
	// UID is the pod's uid in Kubernetes, which is in the names of its cgroups.
	UID, Namespace, Name string
}

// A Container is a container of a pod.
type Container struct{ ID, Name string }

// An Answer lists the pods and containers of a runtime.
type Answer struct {
	Pods       []Pod
	Containers []Container
}

// Bounds on an answer. A node has some hundred pods; each takes a few KiB.
const (
	mostBytes   = 16 << 20
	mostEntries = 1 << 14
	mostHeader  = 64 << 10
)

// versions of the protocol. Both have the same messages; runtimes from before 2022 have only
// the older one.
var versions = []string{"runtime.v1", "runtime.v1alpha2"}

// errVersion says that a runtime does not have a version of the protocol.
var errVersion = errors.New("it does not speak the CRI")

// Ask asks the runtime that listens at a socket, until ctx is done.
func Ask(ctx context.Context, socket string) (a Answer, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return a, fault(socket, err)
	}
	defer conn.Close()
	// The connection is closed as soon as ctx is done, also in the middle of an
	// answer.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	client, end := over(conn)
	defer end()
	for _, version := range versions {
		if a, err = all(ctx, client, version); !errors.Is(err, errVersion) {
			break
		}
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
	if err != nil {
		return Answer{}, fault(socket, err)
	}
	return a, nil
}

func fault(socket string, err error) error {
	return diag.Errorf(diag.Run, "ask for names", socket, "%w", err).
		WithHint("see what it says to: crictl --runtime-endpoint unix://%s pods", socket)
}

// over makes a client that uses one existing connection.
func over(conn net.Conn) (client *http.Client, end func()) {
	var plain http.Protocols
	plain.SetUnencryptedHTTP2(true)
	first := make(chan net.Conn, 1)
	first <- conn
	t := &http.Transport{
		Protocols:              &plain,
		DisableCompression:     true,
		MaxResponseHeaderBytes: mostHeader,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case c := <-first:
				return c, nil
			default:
				return nil, errors.New("it ended the connection")
			}
		},
	}
	return &http.Client{Transport: t, CheckRedirect: noRedirect}, t.CloseIdleConnections
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func all(ctx context.Context, client *http.Client, version string) (a Answer, err error) {
	pods, err := call(ctx, client, version, "ListPodSandbox")
	if err != nil {
		return a, err
	}
	if a.Pods, err = decodePods(pods); err != nil {
		return a, err
	}
	containers, err := call(ctx, client, version, "ListContainers")
	if err != nil {
		return a, err
	}
	a.Containers, err = decodeContainers(containers)
	return a, err
}

// frameHead is the size in bytes of the head before each message: a byte that says
// whether it is compressed, and its length.
const frameHead = 5

// Statuses of gRPC.
const (
	statusOK            = "0"
	statusUnimplemented = "12"
)

// call makes a call without arguments and returns the message of the answer.
func call(ctx context.Context, client *http.Client, version, method string) ([]byte, error) {
	// An empty message asks for all pods or all containers.
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://localhost/"+version+".RuntimeService/"+method, bytes.NewReader(make([]byte, frameHead)))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{
		"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "User-Agent": {"ppscript"},
	}
	answer, err := client.Do(r)
	if broken := (*url.Error)(nil); errors.As(err, &broken) {
		return nil, broken.Err
	}
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK ||
		!strings.HasPrefix(kind, "application/grpc") {
		return nil, errVersion
	}
	message, err := readFrame(answer.Body)
	// An error has no message; its status may come at once, among the headers.
	status := answer.Trailer.Get("Grpc-Status")
	if status == "" {
		status = answer.Header.Get("Grpc-Status")
	}
	switch {
	case status == statusUnimplemented:
		return nil, errVersion
	case status != statusOK && status != "":
		text := answer.Trailer.Get("Grpc-Message") + answer.Header.Get("Grpc-Message")
		return nil, fmt.Errorf("it refuses %s: status %.20q %.200q", method, status, text)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", method, err)
	case status == "":
		return nil, fmt.Errorf("%s: the answer has no end", method)
	}
	return message, nil
}

// readFrame reads the one message of an answer, and its end.
func readFrame(body io.Reader) ([]byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(body, head[:]); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	size := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] != 0:
		return nil, errors.New("the answer is compressed, which nobody asked for")
	case size > mostBytes:
		return nil, fmt.Errorf("the answer: got %d bytes, want at most %d", size, mostBytes)
	}
	// Memory grows with the bytes received, not with the announced size.
	message, err := io.ReadAll(io.LimitReader(body, int64(size)))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(message) < int(size) {
		return nil, fmt.Errorf("the answer: got %d bytes, want %d", len(message), size)
	}
	// The trailer is available only after the end of the body was read.
	switch n, err := io.ReadFull(body, head[:1]); {
	case n > 0:
		return nil, errors.New("the answer has more than one message")
	case err != io.EOF:
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return message, nil
}
