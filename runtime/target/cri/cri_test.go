package cri

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"

	"ppscript/runtime/text/diag"
	"ppscript/tests/testkit/criserver"
)

func socketIn(t *testing.T) string { return filepath.Join(t.TempDir(), "cri.sock") }

// What the protocol's own server lists, in both versions, also if it is much.
func TestAsk(t *testing.T) {
	for _, pods := range []int{0, 1, 2000} {
		for _, old := range []bool{false, true} {
			s := &criserver.Server{Old: old}
			var want Answer
			for i := range pods {
				p := Pod{fmt.Sprintf("%064x", i), fmt.Sprintf("uid-%d", i), "shop", fmt.Sprintf("cart-%d", i)}
				c := Container{fmt.Sprintf("%064x", 1<<32+i), fmt.Sprintf("app-%d", i)}
				want.Pods, want.Containers = append(want.Pods, p), append(want.Containers, c)
				s.Pods = append(s.Pods, criserver.Pod(p.ID, p.UID, p.Namespace, p.Name))
				s.Containers = append(s.Containers, criserver.Container(c.ID, p.ID, c.Name, criserver.Exited))
			}
			socket := socketIn(t)
			s.Start(t, socket)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			got, err := Ask(ctx, socket)
			cancel()
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%d pods, old %v: got %d pods, %d containers and %v", pods, old, len(got.Pods),
					len(got.Containers), err)
			}
		}
	}
}

// The listener may be absent, another program, slow, or hostile: it is an error that says so, in time.
func TestRuntimesThatMisbehave(t *testing.T) {
	raw := func(serve func(c net.Conn)) func(t *testing.T, socket string) {
		return func(t *testing.T, socket string) {
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go func() { defer c.Close(); serve(c) }()
				}
			}()
		}
	}
	// A server whose frames we write.
	frames := func(body []byte, trailer string) func(t *testing.T, socket string) {
		return func(t *testing.T, socket string) {
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			var plain http.Protocols
			plain.SetUnencryptedHTTP2(true)
			s := http.Server{Protocols: &plain, Handler: http.HandlerFunc(func(w http.ResponseWriter,
				r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/grpc")
				w.Header().Set("Trailer", "Grpc-Status")
				w.Write(body)
				if trailer != "" {
					w.Header().Set("Grpc-Status", trailer)
				}
			})}
			go s.Serve(l)
			t.Cleanup(func() { s.Close() })
		}
	}
	frame := func(flag byte, size uint32, message string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{flag}, size), message...)
	}
	for _, c := range []struct {
		name  string
		serve func(t *testing.T, socket string)
		want  string
	}{
		{"nobody", func(*testing.T, string) {}, "no such file"},
		{"stalls before it speaks", raw(func(c net.Conn) { io.Copy(io.Discard, c) }), "no answer: context deadline"},
		{"stalls in a call", func(t *testing.T, socket string) { (&criserver.Server{Stalls: true}).Start(t, socket) },
			"no answer: context deadline"},
		{"closes", raw(func(net.Conn) {}), ""},
		{"garbage", raw(func(c net.Conn) {
			c.Write(bytes.Repeat([]byte("garbage "), 1000))
			io.Copy(io.Discard, c)
		}), "http2"},
		{"HTTP/1", raw(func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			io.Copy(io.Discard, c)
		}), "http2"},
		{"refuses", func(t *testing.T, socket string) {
			(&criserver.Server{Err: status.Error(codes.PermissionDenied, "not you")}).Start(t, socket)
		}, `status "7" "not you"`},
		{"is no runtime", func(t *testing.T, socket string) {
			(&criserver.Server{Err: status.Error(codes.Unimplemented, "unknown service")}).Start(t, socket)
		}, "it does not speak the CRI"},
		{"compressed", frames(frame(1, 2, "ab"), "0"), "compressed"},
		{"promises much", frames(frame(0, 1<<31, "ab"), "0"), "want at most 16777216"},
		{"gives less", frames(frame(0, 100, "ab"), "0"), "got 2 bytes, want 100"},
		{"gives more", frames(frame(0, 2, "\x0a\x00x"), "0"), "more than one message"},
		{"no end", frames(frame(0, 0, ""), ""), "the answer has no end"},
		{"damaged", frames(frame(0, 2, "\x0a\x7f"), "0"), "damaged"},
		{"entries without end", frames(frame(0, 40000, strings.Repeat("\x0a\x00", 20000)), "0"),
			"more than 16384 entries"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			socket := socketIn(t)
			c.serve(t, socket)
			limit := 10 * time.Second
			if strings.Contains(c.name, "stalls") {
				limit = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			got, err := Ask(ctx, socket)
			if err == nil || !strings.Contains(err.Error(), c.want) || diag.HintOf(err) == "" {
				t.Errorf("got %v (hint %q), want %q", err, diag.HintOf(err), c.want)
			}
			if len(got.Pods)+len(got.Containers) > 0 {
				t.Errorf("got %+v beside an error", got)
			}
		})
	}
}

// Whatever bytes come: what the protocol's own decoder reads, we read alike.
func FuzzAnswer(f *testing.F) {
	for _, m := range []proto.Message{
		&runtime.ListPodSandboxResponse{Items: []*runtime.PodSandbox{criserver.Pod("i", "u", "n", "p"), {}}},
		&runtime.ListContainersResponse{Containers: []*runtime.Container{
			criserver.Container("i", "p", "c", criserver.Running), {}}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
		f.Add(append(b, b...))
	}
	f.Add([]byte("\x0b\x0a\x01a\x0c\x08\x01")) // a group, a number
	f.Fuzz(func(t *testing.T, b []byte) {
		pods, podsErr := decodePods(b)
		containers, err := decodeContainers(b)
		var wantPods []Pod
		var list runtime.ListPodSandboxResponse
		if proto.Unmarshal(b, &list) == nil && len(list.Items) <= mostEntries {
			for _, p := range list.Items {
				m := p.GetMetadata()
				wantPods = append(wantPods, Pod{p.Id, m.GetUid(), m.GetNamespace(), m.GetName()})
			}
			if podsErr != nil || !reflect.DeepEqual(pods, wantPods) {
				t.Errorf("got %+v and %v, want %+v", pods, podsErr, wantPods)
			}
		}
		var wantContainers []Container
		var all runtime.ListContainersResponse
		if proto.Unmarshal(b, &all) == nil && len(all.Containers) <= mostEntries {
			for _, c := range all.Containers {
				wantContainers = append(wantContainers, Container{c.Id, c.GetMetadata().GetName()})
			}
			if err != nil || !reflect.DeepEqual(containers, wantContainers) {
				t.Errorf("got %+v and %v, want %+v", containers, err, wantContainers)
			}
		}
	})
}
