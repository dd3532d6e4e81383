package parquet

import (
	"encoding/binary"
	"math/bits"
)

// This file has the encodings of values.

// The numbers of encodings in parquet.thrift.
const (
	plainEncoding = 0
	rleEncoding   = 3
	deltaEncoding = 5
	dictEncoding  = 8
)

// appendZigzag appends a signed number so that small ones are short.
func appendZigzag(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v<<1)^uint64(v>>63))
}

// Blocks have 128 differences, in four parts.
const (
	deltaBlock = 128
	deltaParts = 4
	deltaPart  = deltaBlock / deltaParts
)

// appendDeltas appends numbers as DELTA_BINARY_PACKED: the first one, then blocks of
// differences less the smallest of the block, in as many bits as each part needs.
// Differences may overflow; the sum of the reader overflows back.
func appendDeltas(dst []byte, vals []int64) []byte {
	dst = binary.AppendUvarint(dst, deltaBlock)
	dst = binary.AppendUvarint(dst, deltaParts)
	dst = binary.AppendUvarint(dst, uint64(len(vals)))
	if len(vals) == 0 {
		return appendZigzag(dst, 0)
	}
	dst = appendZigzag(dst, vals[0])
	last := vals[0]
	var diffs [deltaBlock]int64
	for rest := vals[1:]; len(rest) > 0; {
		n := min(len(rest), deltaBlock)
		least := rest[0] - last
		for i, v := range rest[:n] {
			diffs[i], last = v-last, v
			least = min(least, diffs[i])
		}
		for i := n; i < deltaBlock; i++ {
			diffs[i] = least // needs no bits
		}
		rest = rest[n:]
		dst = appendZigzag(dst, least)
		widths := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		for part := range (n + deltaPart - 1) / deltaPart {
			all := uint64(0)
			in := diffs[part*deltaPart:][:deltaPart]
			for _, d := range in {
				all |= uint64(d - least)
			}
			width := bits.Len64(all)
			dst[widths+part] = byte(width)
			dst = appendPacked(dst, in, least, width)
		}
	}
	return dst
}

// appendPacked appends the lowest width bits of each number less base, without
// gaps.
func appendPacked[T int64 | uint32 | byte](dst []byte, vals []T, base T, width int) []byte {
	if width == 0 {
		return dst
	}
	acc, have := uint64(0), 0
	for _, v := range vals {
		n := uint64(v - base)
		acc |= n << have
		if have+width < 64 {
			have += width
			continue
		}
		dst = binary.LittleEndian.AppendUint64(dst, acc)
		acc = n >> (64 - have) // 0 if have is 0: shifts may be as long as the number
		have += width - 64
	}
	for ; have > 0; have -= 8 {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	return dst
}

// longRun is the number of equal numbers that are encoded as a run.
const longRun = 16

// appendHybrid appends small numbers in the hybrid encoding of levels and dictionaries:
// runs of equal numbers, else groups of eight numbers with width bits each.
func appendHybrid[T uint32 | byte](dst []byte, vals []T, width int) []byte {
	for i := 0; i < len(vals); {
		n := runOf(vals[i:])
		if n >= 8 || i+n == len(vals) {
			dst = binary.AppendUvarint(dst, uint64(n)<<1)
			for shift := 0; shift < width; shift += 8 {
				dst = append(dst, byte(uint32(vals[i])>>shift))
			}
			i += n
			continue
		}
		from := i
		for i < len(vals) && (i == from || runOf(vals[i:min(i+longRun, len(vals))]) < longRun) {
			i = min(i+8, len(vals))
		}
		groups := (i - from + 7) / 8
		dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
		end := len(dst) + groups*width
		dst = appendPacked(dst, vals[from:i], 0, width)
		for len(dst) < end {
			dst = append(dst, 0)
		}
	}
	return dst
}

// runOf returns the number of equal numbers at the begin.
func runOf[T comparable](vals []T) int {
	n := 1
	for n < len(vals) && vals[n] == vals[0] {
		n++
	}
	return n
}
