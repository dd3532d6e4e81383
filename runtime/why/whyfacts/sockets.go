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

// This file names sockets, by the tables of /proc/PID/net. These may be long, and the kernel walks
// through all sockets for them: they are read at most each pause, and only so much of them. Asking
// the socket itself, by a copy of its descriptor, would be quicker; but a copy may outlive the close
// of its owner, which the other side would notice.

const (
	// pause is the least time between two looks at the tables of a network.
	pause = 200 * time.Millisecond
	// current is how long an entry of the tables is believed: addresses of sockets change once at most.
	current = time.Second
	// mostTable bounds what is read of a table, in bytes; about 25,000 sockets.
	mostTable = 4 << 20
	// mostNetworks bounds the networks whose tables are kept.
	mostNetworks = 64
)

// sockets are the sockets of networks, by the networks' names.
type sockets struct{ networks map[string]*network }

// A network has the names of its sockets by their inodes, and when they were read.
type network struct {
	at    time.Time
	names map[string]string
}

// name names the socket of a process: its kind, and the other end if it has one.
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

// tables are the files of /proc/PID/net with addresses.
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

// inet takes a line of a table of addresses: the second and third words are the own and the other
// one, the tenth is the inode.
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

// ephemeral is the first of the ports that kernels choose by themselves where nobody says otherwise.
const ephemeral = 32768

// connection names a socket: by whom it reaches, or what it serves and for whom.
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

// address reads "0100007F:1F90": words of four bytes in the order of the machine, and a port.
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
	for i := 0; i < len(raw); i += 4 { // amd64 and arm64 begin with the last byte
		slices.Reverse(raw[i : i+4])
	}
	addr, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), true
}

// unix takes a line of the table of unix sockets: the seventh word is the inode, the eighth the path
// of its server, if it has one.
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
