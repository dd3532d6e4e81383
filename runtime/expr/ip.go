package expr

import "net/netip"

// IPAddress appends an IP address as people write it; ok is false unless it has 4 bytes or 16. An
// IPv4 address that stands in an IPv6 one is written as an IPv4 address.
func IPAddress(dst, bytes []byte) (text []byte, ok bool) {
	a, ok := netip.AddrFromSlice(bytes)
	if !ok {
		return dst, false
	}
	return a.Unmap().AppendTo(dst), true
}

// NewIPAddress is the text of an address that an event has as an array of bytes.
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
