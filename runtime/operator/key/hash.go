package key

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// This file hashes the bytes of keys: words are multiplied to 128 bits and folded,
// as wyhash does. Keys are short, and for these it takes a third of the time of
// hash/maphash. The seed is a table's own, and random: a user who can choose names of
// threads cannot choose names that collide.

// A seed is two random words.
type seed [2]uint64

func newSeed() seed {
	var s seed
	for i := range s {
		s[i] = maphash.Bytes(maphash.MakeSeed(), nil)
	}
	return s
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hash is the hash of a key.
func (s *seed) hash(k []byte) uint32 {
	const p = 0xa0761d6478bd642f
	n := len(k)
	h := s[0]
	for len(k) > 16 {
		h = mix(binary.LittleEndian.Uint64(k)^s[1], binary.LittleEndian.Uint64(k[8:])^h)
		k = k[16:]
	}
	var a, b uint64
	switch {
	case len(k) >= 8: // its first and its last 8 bytes, which may overlap
		a, b = binary.LittleEndian.Uint64(k), binary.LittleEndian.Uint64(k[len(k)-8:])
	case len(k) >= 4:
		a, b = uint64(binary.LittleEndian.Uint32(k)), uint64(binary.LittleEndian.Uint32(k[len(k)-4:]))
	case len(k) > 0:
		a = uint64(k[0])<<16 | uint64(k[len(k)/2])<<8 | uint64(k[len(k)-1])
	}
	h = mix(a^s[1], b^h)
	h = mix(h^p, uint64(n)^s[0])
	return uint32(h>>32) ^ uint32(h)
}
