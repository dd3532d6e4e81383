package tracefs

import "strconv"

// This file prints bytes as arrays and dumps, like the kernel's helpers.

func appendHexNumber(dst []byte, v uint64) []byte {
	return strconv.AppendUint(append(dst, "0x"...), v, 16)
}

// appendHexString prints like __print_hex or, if joined, like __print_hex_str.
func appendHexString(dst, data []byte, n int, joined bool) []byte {
	n = min(n, len(data))
	for i := range max(n, 0) {
		if i > 0 && !joined {
			dst = append(dst, ' ')
		}
		dst = appendByte(dst, data[i], lowerHex)
	}
	return dst
}

// appendArray prints like __print_array: {0x1,0x2}.
func appendArray(dst, data []byte, count, size int) []byte {
	dst = append(dst, '{')
	for i := 0; i < count && len(data) > 0; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch size {
		case 1, 2, 4, 8:
			n := min(size, len(data))
			dst = appendHexNumber(dst, load64(data[:n]))
			data = data[n:]
		default:
			dst = append(dst, "BAD SIZE:"...)
			dst = strconv.AppendInt(dst, int64(size), 10)
			dst = append(dst, " 0x"...)
			dst = strconv.AppendUint(dst, uint64(data[0]), 16)
			data = data[1:]
		}
	}
	return append(dst, '}')
}

// The prefixes of a hex dump, enum DUMP_PREFIX_* in linux/printk.h.
const (
	dumpAddress = 1
	dumpOffset  = 2
)

// appendHexDump prints like __print_hex_dump: lines of row bytes in groups,
// each group one little-endian number, followed by the text if ascii.
func appendHexDump(dst []byte, prefix string, kind, row, group int, data []byte, ascii bool) []byte {
	if row != 16 && row != 32 {
		row = 16
	}
	if group != 2 && group != 4 && group != 8 {
		group = 1
	}
	dst = append(dst, '\n')
	for off := 0; off < len(data); off += row {
		line := data[off:min(off+row, len(data))]
		dst = append(dst, prefix...)
		switch kind {
		case dumpAddress, dumpOffset: // the address itself is not in the record
			p := spec{zero: true, width: 8, prec: -1}
			dst = append(p.appendNumber(dst, uint64(off), 16, 0, false), ": "...)
		}
		start := len(dst)
		g := group
		if len(line)%g != 0 {
			g = 1
		}
		for i := 0; i < len(line); i += g {
			if i > 0 {
				dst = append(dst, ' ')
			}
			for j := g - 1; j >= 0; j-- {
				dst = appendByte(dst, line[i+j], lowerHex)
			}
		}
		if ascii {
			dst = appendPad(dst, ' ', row*2+row/g+1-(len(dst)-start))
			for _, c := range line {
				if c < ' ' || c > '~' {
					c = '.'
				}
				dst = append(dst, c)
			}
		}
		dst = append(dst, '\n')
	}
	return dst
}

// mcErrorType returns the text of mc_event_error_type of linux/edac.h (for
// ras:mc_event).
func mcErrorType(v uint64) string {
	switch v {
	case 0:
		return "Corrected"
	case 1:
		return "Uncorrected"
	case 2:
		return "Deferred"
	case 3:
		return "Fatal"
	}
	return "Info"
}
