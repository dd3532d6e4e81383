package result

import "encoding/binary"

// This file merges equal stacks. Stacks are counted by their addresses, and two
// processes of a program have its functions at different addresses.

// Merge combines samples with equal keys and frames into the first of them. The
// address of a frame is not compared if the frame has a symbol or a file. If
// the samples belong to several processes, PID becomes -1.
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
