package whyfacts

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"

	"ppscript/runtime/system/privilege"
	"ppscript/runtime/why"
)

// This file finds the names of sockets in the tables of /proc/PID/net. These may be long, and the
// kernel walks through all sockets to make them. So they are read at most once per pause, and only
// up to a bound. Reading the address from a duplicate of the socket's descriptor would be faster.
// But the duplicate could keep the connection open after its owner has closed it, which the peer
// would notice.

const (
	// pause is the least time between two reads of the tables of a network
	// namespace.
	pause = 200 * time.Millisecond
	// current is the time for which an entry is cached; the addresses of a socket change at most
	// once.
	current = time.Second
	// mostTable bounds the bytes that are read of a table; about 25,000
	// sockets.
	mostTable = 4 << 20
	// mostNetworks bounds the network namespaces whose tables are cached.
	mostNetworks = 64
)

// sockets finds names of sockets; networks is by the name of the network
// namespace.
type sockets struct{ networks map[string]*network }

// A network is a network namespace: the names of its sockets by inode, and the
// time at which they were read.
type network struct {
	at    time.Time
	names map[string]string
}

// name returns the name of a process's socket: its kind, and its peer if it has
// one.
func (s *sockets) name(process, inode string) string {
	own := ""
	privilege.Raise(privilege.Processes, func() { own, _ = os.Readlink(process + "/ns/net") })
	if own == "" {
		own = process
	}
	n := s.networks[own]
	if n == nil {
		if s.networks == nil || len(s.networks) >= mostNetworks {
			s.networks = map[string]*network{}
		}
		n = &network{}
		s.networks[own] = n
	}
	age := time.Since(n.at)
	name, known := n.names[inode]
	if age > current || !known && age > pause {
		n.at, n.names = time.Now(), map[string]string{}
		n.read(process + "/net/")
		name, known = n.names[inode]
	}
	if !known {
		return "socket"
	}
	return name
}

// tables are the files in /proc/PID/net with addresses.
var tables = []struct{ file, kind string }{
	{"tcp", "tcp"}, {"tcp6", "tcp"}, {"udp", "udp"}, {"udp6", "udp"}, {"raw", "raw"}, {"raw6", "raw"},
	{"icmp", "icmp"}, {"icmp6", "icmp"},
}

func (n *network) read(dir string) {
	for _, t := range tables {
		for line := range bytes.Lines(readSome(dir + t.file)) {
			n.inet(t.kind, bytes.Fields(line))
		}
	}
	for line := range bytes.Lines(readSome(dir + "unix")) {
		n.unix(bytes.Fields(line))
	}
	for line := range bytes.Lines(readSome(dir + "netlink")) {
		if f := bytes.Fields(line); len(f) > 9 {
			n.names[string(f[9])] = "netlink"
		}
	}
	for line := range bytes.Lines(readSome(dir + "packet")) {
		if f := bytes.Fields(line); len(f) > 8 {
			n.names[string(f[8])] = "packet socket"
		}
	}
}

func readSome(file string) (text []byte) {
	f, err := privilege.Open(privilege.Processes, file)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ = io.ReadAll(io.LimitReader(f, mostTable))
	return text
}

// inet adds the socket in a line of a table. The second and third words are the local and the
// remote address, the tenth is the inode.
func (n *network) inet(kind string, f [][]byte) {
	if len(f) < 10 {
		return
	}
	own, ok1 := address(f[1])
	other, ok2 := address(f[2])
	if ok1 && ok2 {
		n.names[string(f[9])] = connection(kind, own, other)
	}
}

// ephemeral is the first port that the kernel assigns automatically by default.
const ephemeral = 32768

// connection returns the name of a socket: the peer's address for a client, the
// own port and the peer for a server.
func connection(kind string, own, other netip.AddrPort) string {
	port := kind + " port " + strconv.Itoa(int(own.Port()))
	switch {
	case kind != "tcp" && kind != "udp":
		return kind + " socket"
	case other.Port() == 0:
		return port
	case own.Port() < ephemeral && other.Port() >= ephemeral:
		return port + why.FromPeer + other.String()
	}
	return kind + " " + other.String()
}

// address parses "0100007F:1F90": words of four bytes in the machine's byte order, and a
// port.
func address(text []byte) (a netip.AddrPort, ok bool) {
	ip, port, ok := bytes.Cut(text, []byte(":"))
	if !ok || len(ip) != 8 && len(ip) != 32 {
		return a, false
	}
	raw, err := hex.AppendDecode(nil, ip)
	number, perr := strconv.ParseUint(string(port), 16, 16)
	if err != nil || perr != nil {
		return a, false
	}
	for i := 0; i < len(raw); i += 4 { // amd64 and arm64 are little-endian
		slices.Reverse(raw[i : i+4])
	}
	addr, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), true
}

// unix adds the socket in a line of the table of Unix sockets. The seventh word is the inode, the
// eighth the path of its server, if it has one.
func (n *network) unix(f [][]byte) {
	if len(f) < 7 {
		return
	}
	name := "unix socket"
	if len(f) > 7 {
		name = "unix " + string(f[7])
	}
	n.names[string(f[6])] = name
}
