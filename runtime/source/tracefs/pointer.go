package tracefs

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// This file prints the kernel's %p conversions. Some print an address (%p %px
// %pS); their argument is a number. Others print the data at the address (%pI4
// %pM %pU); their argument is bytes of the record. Bytes that a short record
// lacks are printed as zeros.

// pointerKind is the kind of argument of a %p conversion.
type pointerKind uint8

const (
	byAddress pointerKind = iota
	byData
	unknownPointer // data that is not in the record: a dentry, a resource
)

// kindOf classifies the letters after %p.
func kindOf(ext string) pointerKind {
	if ext == "" {
		return byAddress
	}
	switch ext[0] {
	case 'x', 'K', 'S', 's', 'B', 'e':
		return byAddress
	case 'F', 'f': // the old spelling of S and s; %pfw is a firmware node
		if len(ext) == 1 {
			return byAddress
		}
		return unknownPointer
	case 'h', 'b', 'M', 'm', 'U', 'a', 'N':
		return byData
	case 'I', 'i':
		if len(ext) > 1 && (ext[1] == '4' || ext[1] == '6' || ext[1] == 'S') {
			return byData
		}
	case 'R', 'r', 'E', 'V', '4', 't', 'd', 'D', 'g', 'G', 'C', 'O', 'u', 'k', 'A':
		return unknownPointer
	}
	return byAddress
}

// appendAddress prints a %p conversion of an address.
func (s *spec) appendAddress(dst []byte, addr uint64, o *Options) []byte {
	if s.ext != "" {
		switch s.ext[0] {
		case 'S', 's', 'F', 'f', 'B':
			return s.appendSymbol(dst, addr, o)
		case 'e':
			if name := errnoName(addr); name != "" {
				start := len(dst)
				return s.justify(append(append(dst, '-'), name...), start)
			}
		}
	}
	p := *s
	if p.width < 0 {
		p.width, p.zero = 16, true
		if p.alt {
			p.width = 18
		}
	}
	return p.appendNumber(dst, addr, 16, 0, false)
}

// appendSymbol prints the function at an address: name+0xoff/0xsize for %pS and
// %pB, the name for %ps; the address in hex if no function is known.
func (s *spec) appendSymbol(dst []byte, addr uint64, o *Options) []byte {
	start := len(dst)
	look := addr
	back := s.ext[0] == 'B'
	if back {
		// After a call at the end of a function, the return address is the
		// first byte of the next function.
		look--
	}
	name, off, size, ok := "", uint64(0), uint64(0), false
	if o.Ksym != nil {
		name, off, size, ok = o.Ksym(look)
	}
	if !ok {
		dst = strconv.AppendUint(append(dst, "0x"...), addr, 16)
		return s.justify(dst, start)
	}
	if back {
		off++
	}
	bare, module := name, ""
	for i := 0; i < len(name); i++ {
		if name[i] == ' ' {
			bare, module = name[:i], name[i:]
			break
		}
	}
	dst = append(dst, bare...)
	if s.ext[0] != 's' && s.ext[0] != 'f' {
		dst = strconv.AppendUint(append(dst, "+0x"...), off, 16)
		dst = strconv.AppendUint(append(dst, "/0x"...), size, 16)
	}
	return s.justify(append(dst, module...), start)
}

// appendData prints a %p conversion of data; width is the number of bytes or
// bits for %ph and %pb.
func (s *spec) appendData(dst, data []byte) []byte {
	start := len(dst)
	switch s.ext[0] {
	case 'h':
		return s.appendHex(dst, data)
	case 'b':
		n := max(s.width, 0)
		if len(s.ext) > 1 && s.ext[1] == 'l' {
			return appendBitList(dst, data, n)
		}
		return appendBitmap(dst, data, n)
	case 'M', 'm':
		dst = appendMAC(dst, data, s.ext)
	case 'U':
		dst = appendUUID(dst, data, s.ext)
	case 'I', 'i':
		dst = appendIP(dst, data, s.ext)
	case 'a', 'N': // a physical address, a set of 64 bits
		p := spec{alt: true, zero: true, width: 18, prec: -1}
		return p.appendNumber(dst, load64(data), 16, 0, false)
	}
	return s.justify(dst, start)
}

// AppendPointer prints data like %p with the letters ext: "I4" is an IPv4
// address, "M" a MAC.
func AppendPointer(dst, data []byte, ext string) []byte {
	s := spec{ext: ext, width: -1, prec: -1}
	return s.appendData(dst, data)
}

func byteAt(b []byte, i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}

func load64(b []byte) uint64 {
	var w [8]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[:])
}

const lowerHex, upperHex = "0123456789abcdef", "0123456789ABCDEF"

func appendByte(dst []byte, c byte, digits string) []byte {
	return append(dst, digits[c>>4], digits[c&15])
}

// appendHex prints %*ph: up to 64 bytes, with the separator that the letter
// after h selects.
func (s *spec) appendHex(dst, data []byte) []byte {
	n := 1
	if s.width >= 0 {
		n = min(s.width, 64)
	}
	sep := byte(' ')
	if len(s.ext) > 1 {
		switch s.ext[1] {
		case 'C':
			sep = ':'
		case 'D':
			sep = '-'
		case 'N':
			sep = 0
		}
	}
	for i := range n {
		if i > 0 && sep != 0 {
			dst = append(dst, sep)
		}
		dst = appendByte(dst, byteAt(data, i), lowerHex)
	}
	return dst
}

// bitmapWord returns bits 32*i to 32*i+31.
func bitmapWord(data []byte, i int) uint32 {
	var w [4]byte
	if 4*i < len(data) {
		copy(w[:], data[4*i:])
	}
	return binary.LittleEndian.Uint32(w[:])
}

// appendBitmap prints %*pb: hex in groups of 32 bits, the highest first.
func appendBitmap(dst, data []byte, n int) []byte {
	for i := (n+31)/32 - 1; i >= 0; i-- {
		w, width := bitmapWord(data, i), 32
		if top := n % 32; top != 0 && i == n/32 {
			w, width = w&(1<<top-1), top
		}
		p := spec{zero: true, width: (width + 3) / 4, prec: -1}
		dst = p.appendNumber(dst, uint64(w), 16, 0, false)
		if i > 0 {
			dst = append(dst, ',')
		}
	}
	return dst
}

// appendBitList prints %*pbl: 0-3,5.
func appendBitList(dst, data []byte, n int) []byte {
	n = min(n, 8*len(data))
	first := true
	for i := 0; i < n; {
		if w := bitmapWord(data, i/32) >> (i % 32); w == 0 {
			i += 32 - i%32
			continue
		} else if skip := bits.TrailingZeros32(w); skip > 0 {
			i += skip
			continue
		}
		end := i
		for end+1 < n && data[(end+1)/8]>>((end+1)%8)&1 == 1 {
			end++
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = strconv.AppendInt(dst, int64(i), 10)
		if end > i {
			dst = strconv.AppendInt(append(dst, '-'), int64(end), 10)
		}
		i = end + 1
	}
	return dst
}

// appendMAC prints %pM, %pMF (dashes), %pMR (reversed) and %pm (no separator).
func appendMAC(dst, data []byte, ext string) []byte {
	sep, reversed := byte(':'), false
	if len(ext) > 1 {
		switch ext[1] {
		case 'F':
			sep = '-'
		case 'R':
			reversed = true
		}
	}
	for i := range 6 {
		j := i
		if reversed {
			j = 5 - i
		}
		if i > 0 && ext[0] == 'M' {
			dst = append(dst, sep)
		}
		dst = appendByte(dst, byteAt(data, j), lowerHex)
	}
	return dst
}

// The order in which the bytes of a UUID are printed: unchanged, or with the
// first three groups little-endian.
var (
	uuidBE = [16]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	uuidLE = [16]int{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15}
)

// appendUUID prints %pU[bBlL].
func appendUUID(dst, data []byte, ext string) []byte {
	order, digits := &uuidBE, lowerHex
	if len(ext) > 1 {
		switch ext[1] {
		case 'B':
			digits = upperHex
		case 'l':
			order = &uuidLE
		case 'L':
			order, digits = &uuidLE, upperHex
		}
	}
	for i, j := range order {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = appendByte(dst, byteAt(data, j), digits)
	}
	return dst
}
