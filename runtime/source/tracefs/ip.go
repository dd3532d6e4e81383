package tracefs

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// appendIP prints %pI4 %pi4 %pI6 %pi6 %pI6c and %pIS with its letters: p port,
// f flow, s scope, c compressed, h n b l byte order. A small i means fixed
// width for IPv4 and no colons for IPv6.
func appendIP(dst, data []byte, ext string) []byte {
	switch ext[1] {
	case '4':
		return appendIP4(dst, data, ext[0] == 'i', hostOrder(ext[2:]))
	case '6':
		return appendIP6(dst, data, ext[0] == 'i', strings.Contains(ext[2:], "c"))
	}
	return appendSockaddr(dst, data, ext)
}

// hostOrder reports that letters select an IPv4 address in host order, which is
// little-endian here.
func hostOrder(letters string) bool {
	return letters != "" && (letters[0] == 'h' || letters[0] == 'l')
}

func appendIP4(dst, data []byte, padded, reversed bool) []byte {
	for i := range 4 {
		j := i
		if reversed {
			j = 3 - i
		}
		if i > 0 {
			dst = append(dst, '.')
		}
		c := byteAt(data, j)
		if padded {
			dst = append(dst, '0'+c/100, '0'+c/10%10, '0'+c%10)
			continue
		}
		dst = strconv.AppendUint(dst, uint64(c), 10)
	}
	return dst
}

func group(data []byte, i int) uint16 {
	return uint16(byteAt(data, 2*i))<<8 | uint16(byteAt(data, 2*i+1))
}

func appendIP6(dst, data []byte, bare, compressed bool) []byte {
	if compressed && !bare {
		return appendIP6Short(dst, data)
	}
	for i := range 8 {
		if i > 0 && !bare {
			dst = append(dst, ':')
		}
		dst = appendByte(dst, byteAt(data, 2*i), lowerHex)
		dst = appendByte(dst, byteAt(data, 2*i+1), lowerHex)
	}
	return dst
}

// appendIP6Short prints the form of RFC 5952: the longest run of two or more
// zero groups becomes "::", mapped and ISATAP addresses end in dotted form.
func appendIP6Short(dst, data []byte) []byte {
	groups := 8
	mapped := true
	for i := range 5 {
		mapped = mapped && group(data, i) == 0
	}
	mapped = mapped && group(data, 5) == 0xffff
	isatap := group(data, 4)&^0x0200 == 0 && group(data, 5) == 0x5efe
	dotted := mapped || isatap
	if dotted {
		groups = 6
	}
	best, length := -1, 1
	for i := 0; i < groups; i++ {
		n := 0
		for i+n < groups && group(data, i+n) == 0 {
			n++
		}
		if n > length {
			best, length = i, n
		}
		i += n
	}
	colon := false
	for i := 0; i < groups; i++ {
		if i == best {
			dst = append(dst, "::"...)
			colon = false
			i += length - 1
			continue
		}
		if colon {
			dst = append(dst, ':')
		}
		dst = strconv.AppendUint(dst, uint64(group(data, i)), 16)
		colon = true
	}
	if dotted {
		if colon {
			dst = append(dst, ':')
		}
		rest := data[:0]
		if len(data) > 12 {
			rest = data[12:]
		}
		dst = appendIP4(dst, rest, false, false)
	}
	return dst
}

// Address families of linux/socket.h.
const (
	afInet  = 2
	afInet6 = 10
)

// appendSockaddr prints %pIS. The offsets must match struct sockaddr_in and
// sockaddr_in6 in uapi/linux/in.h and in6.h.
func appendSockaddr(dst, data []byte, ext string) []byte {
	letters := ext[2:]
	has := func(c string) bool { return strings.Contains(letters, c) }
	port := func(dst []byte) []byte {
		return strconv.AppendUint(append(dst, ':'), uint64(group(data, 1)), 10)
	}
	tail := func(n int) []byte {
		if len(data) > n {
			return data[n:]
		}
		return nil
	}
	switch family := uint16(byteAt(data, 1))<<8 | uint16(byteAt(data, 0)); family {
	case afInet:
		order := strings.Trim(letters, "pfsc")
		dst = appendIP4(dst, tail(4), ext[0] == 'i', hostOrder(order))
		if has("p") {
			dst = port(dst)
		}
	case afInet6:
		bracket := has("p") || has("f") || has("s")
		if bracket {
			dst = append(dst, '[')
		}
		dst = appendIP6(dst, tail(8), ext[0] == 'i', has("c"))
		if bracket {
			dst = append(dst, ']')
		}
		if has("p") {
			dst = port(dst)
		}
		if has("f") {
			var w [4]byte
			copy(w[:], tail(4))
			dst = strconv.AppendUint(append(dst, '/'), uint64(binary.BigEndian.Uint32(w[:])&0x0fffffff), 10)
		}
		if has("s") {
			var w [4]byte
			copy(w[:], tail(24))
			dst = strconv.AppendUint(append(dst, '%'), uint64(binary.LittleEndian.Uint32(w[:])), 10)
		}
	default:
		dst = append(dst, "(einval)"...)
	}
	return dst
}
