package relay

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"

	"ppscript/runtime/text/diag"
)

type kind uint8

const (
	tcp   kind = iota
	local      // a port of this machine; it is a unix socket
	unixSocket
	vsock
	device
	file
)

// An address is the place to which events are sent, or from which they are
// received.
type address struct {
	kind kind
	text string // as written by the user
	host string // of tcp
	port uint64
	cid  uint64 // of vsock
	path string // of unixSocket
}

const forms = "give PORT, IP:PORT, unix:PATH, vsock:PORT, vsock:CID:PORT, a character device or a file"

// maxSocketPath is the longest path that fits into sockaddr_un.
const maxSocketPath = 107

// parse parses an address. A text that looks like a port is never the name of a
// file.
func parse(text string) (address, error) {
	a := address{text: text}
	bad := func(format string, args ...any) (address, error) {
		return a, diag.Errorf(diag.Usage, "address", text, format, args...).WithHint(forms)
	}
	var err error
	switch rest, ok := strings.CutPrefix(text, "vsock:"); {
	case text == "":
		return bad("is empty")
	case ok:
		a.kind, a.cid = vsock, anyCID
		if cid, port, two := strings.Cut(rest, ":"); two {
			if a.cid, err = strconv.ParseUint(cid, 10, 32); err != nil {
				return bad("CID: got %q, want a number", cid)
			}
			rest = port
		}
		if a.port, err = strconv.ParseUint(rest, 10, 32); err != nil {
			return bad("port: got %q, want a number", rest)
		}
		return a, nil
	case strings.HasPrefix(text, "unix:"):
		a.kind, a.path = unixSocket, strings.TrimPrefix(text, "unix:")
		if a.path == "" || len(a.path) > maxSocketPath {
			return bad("path: got %d bytes, want 1 to %d", len(a.path), maxSocketPath)
		}
		return a, nil
	case strings.Trim(text, "0123456789") == "":
		if a.port, err = strconv.ParseUint(text, 10, 16); err != nil {
			return bad("port: got %s, want at most 65535", text)
		}
		a.kind = local
		return a, nil
	}
	host, port, err := net.SplitHostPort(text)
	if err == nil && !strings.Contains(text, "/") && port != "" && strings.Trim(port, "0123456789") == "" {
		a.host = host
		if a.port, err = strconv.ParseUint(port, 10, 16); err != nil {
			return bad("port: got %s, want at most 65535", port)
		}
		if host == "" {
			a.kind = local
		}
		return a, nil
	}
	a.kind = file
	switch st, err := os.Stat(text); {
	case err == nil && st.Mode()&os.ModeCharDevice != 0:
		a.kind = device
	case err == nil && st.Mode()&os.ModeSocket != 0:
		a.kind, a.path = unixSocket, text
	case err == nil && st.IsDir():
		return bad("is a directory")
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return bad("%w", err)
	}
	return a, nil
}

// needsToken reports that users other than this user and root can connect to the
// address, or listen there.
func (a *address) needsToken() bool { return a.kind == tcp || a.kind == vsock }

// endpoint returns the address in the notation of package net.
func (a *address) endpoint() string {
	return net.JoinHostPort(a.host, strconv.FormatUint(a.port, 10))
}
