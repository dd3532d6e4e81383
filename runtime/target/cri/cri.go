// Package cri asks a runtime of containers for its pods and containers, at the socket where
// the kubelet talks to it: containerd, CRI-O, cri-dockerd.
//
//	a, err := cri.Ask(ctx, "/run/containerd/containerd.sock")
//	a.Pods         // UID, NAMESPACE/NAME
//	a.Containers   // ID, NAME; those that have ended, too, as long as the runtime keeps them
//
// The protocol is gRPC: a POST over HTTP/2 with one protobuf message in each direction. Two
// calls without arguments, of which a few texts are read, need neither of their libraries.
// Nothing else is ever called: a runtime's socket is as good as root. Package cgroup asks, apart
// from events. What comes back is bounded in size and in time, and is not trusted.
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

// A Pod is a pod of Kubernetes, by its sandbox.
type Pod struct {
	// ID is the sandbox's id, which its own container has as well.
	ID string
	// UID is what Kubernetes calls it: the cgroup has it in its name.
	UID, Namespace, Name string
}

// A Container is one of a pod.
type Container struct{ ID, Name string }

// An Answer is what a runtime knows.
type Answer struct {
	Pods       []Pod
	Containers []Container
}

// Bounds on an answer. A node has some hundred pods, of which each takes a few KiB.
const (
	mostBytes   = 16 << 20
	mostEntries = 1 << 14
	mostHeader  = 64 << 10
)

// versions of the protocol. They have the same messages; runtimes of before 2022 know the older
// one alone.
var versions = []string{"runtime.v1", "runtime.v1alpha2"}

// errVersion says that a runtime does not know a version of the protocol.
var errVersion = errors.New("it does not speak the CRI")

// Ask asks the runtime that listens at a socket, until ctx is done.
func Ask(ctx context.Context, socket string) (a Answer, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return a, fault(socket, err)
	}
	defer conn.Close()
	// One that stalls is left at once.
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

// over is a client that has one connection.
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

// frameHead is what goes before a message: whether it is compressed, and its size.
const frameHead = 5

// Statuses of gRPC.
const (
	statusOK            = "0"
	statusUnimplemented = "12"
)

// call is a call without arguments. It returns the message that comes back.
func call(ctx context.Context, client *http.Client, version, method string) ([]byte, error) {
	// An empty message: all pods, or all containers.
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
	// Memory grows with what comes, not with what is promised.
	message, err := io.ReadAll(io.LimitReader(body, int64(size)))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(message) < int(size) {
		return nil, fmt.Errorf("the answer: got %d bytes, want %d", len(message), size)
	}
	// The trailer is there when the end has been seen.
	switch n, err := io.ReadFull(body, head[:1]); {
	case n > 0:
		return nil, errors.New("the answer has more than one message")
	case err != io.EOF:
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return message, nil
}
