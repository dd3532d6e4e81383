package expr

import "net/netip"

// IPAddress appends the text of an IP address; ok is false unless it has 4 or 16 bytes. An IPv6
// address that maps an IPv4 one is written as the IPv4 address.
func IPAddress(dst, bytes []byte) (text []byte, ok bool) {
	a, ok := netip.AddrFromSlice(bytes)
	if !ok {
		return dst, false
	}
	return a.Unmap().AppendTo(dst), true
}

// NewIPAddress is the text of an IP address in an array of bytes.
func NewIPAddress(bytes Node) (Node, error) {
	return NewNative(Native{Name: "ip_address", T: TStr, Args: []Node{bytes}, HostOnly: TextsHere,
		Str: func(f *Frame, args []Arg) []byte {
			text, ok := IPAddress(f.Scratch(), args[0].S)
			if !ok {
				f.Fail(ErrMissing)
				return nil
			}
			return f.Keep(text)
		}})
}
