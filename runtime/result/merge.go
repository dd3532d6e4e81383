package result

import "encoding/binary"

// This file puts equal stacks together. Stacks are counted by their addresses,
// and a program that runs twice has its functions at two places.

// Merge makes one sample of those with equal keys and frames. Frames are equal
// if they read the same: the address does not count where there is a name or a
// place in a file. The first of them stays, without the process if they are of
// several.
func (s *Stacks) Merge() {
	frames, numbers := map[*Frame]uint32{}, map[Frame]uint32{}
	number := func(f *Frame) uint32 {
		if n, ok := frames[f]; ok {
			return n
		}
		same := *f
		if f.Symbol != "" || f.DSO != "" {
			same.Addr = 0
		}
		n, ok := numbers[same]
		if !ok {
			n = uint32(len(numbers))
			numbers[same] = n
		}
		frames[f] = n
		return n
	}
	seen := make(map[string]int, len(s.Samples))
	var key []byte
	kept := s.Samples[:0]
	for _, x := range s.Samples {
		key = key[:0]
		for _, v := range x.Key {
			text := v.String()
			key = append(binary.AppendUvarint(append(key, byte(v.Kind)), uint64(len(text))), text...)
		}
		key = append(key, map[bool]byte{true: 1}[x.Cut])
		for _, f := range x.Frames {
			key = binary.LittleEndian.AppendUint32(key, number(f))
		}
		at, ok := seen[string(key)]
		if !ok {
			seen[string(key)] = len(kept)
			kept = append(kept, x)
			continue
		}
		first := &kept[at]
		if first.PID != x.PID {
			first.PID = -1
		}
		first.Count += x.Count
		first.Value += x.Value
	}
	clear(s.Samples[len(kept):])
	s.Samples = kept
}
