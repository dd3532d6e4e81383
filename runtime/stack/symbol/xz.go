package symbol

import (
	"bytes"
	"errors"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// This file reads data compressed with xz from untrusted files. The library's
// reader of xz streams allocates the dictionary that a block's header declares,
// up to 4 GiB. So this file reads the blocks itself, and uses the library's LZMA2
// reader with a dictionary of a bounded size.

// maxDictionary is the largest dictionary that a stream may declare, the one of
// xz -9.
const maxDictionary = 28 // 64 MiB, in the encoding of headers

// checkSizes are the sizes of the check after a block, by the stream's flags.
var checkSizes = map[byte]int{0: 0, 1: 4, 4: 8, 10: 32}

// unpackXZ returns the content of a stream, up to maxMini bytes.
func unpackXZ(data []byte) ([]byte, error) {
	const header = 12 // of the stream
	if len(data) < header+8 || !bytes.HasPrefix(data, []byte("\xfd7zXZ\x00\x00")) {
		return nil, errors.New("not an xz stream")
	}
	check, known := checkSizes[data[7]]
	block := data[header:]
	size := 4 * (int(block[0]) + 1)
	dictionary, ok := lzma2Of(block[:min(size, len(block))])
	switch {
	case !known || !ok || size > len(block):
		return nil, errors.New("the form of its xz stream is not known")
	case dictionary > maxDictionary:
		return nil, errors.New("wants too large a dictionary")
	}
	in := bytes.NewReader(block[size:])
	// The size of the dictionary is 2 or 3 times a power of two.
	r, err := lzma.Reader2Config{DictCap: (2 | int(dictionary)&1) << (dictionary/2 + 11)}.NewReader2(in)
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxMini))
	if err != nil {
		return nil, err
	}
	// The block is followed by padding up to a multiple of four, and the check; then by the next
	// block, or the index, which begins with 0.
	next := (len(block)-in.Len()+3)/4*4 + check
	if len(plain) < maxMini && (next >= len(block) || block[next] != 0) {
		return nil, errors.New("its xz stream has several blocks, or is cut off")
	}
	return plain, nil
}

// lzma2Of returns the size of the dictionary in the header of a block, if LZMA2
// is the block's only filter.
func lzma2Of(header []byte) (dictionary byte, ok bool) {
	at := 2
	for _, sized := range []byte{0x40, 0x80} { // compressed, uncompressed size
		if header[1]&sized == 0 {
			continue
		}
		for at < len(header) && header[at]&0x80 != 0 {
			at++
		}
		at++
	}
	// One filter, LZMA2 (0x21), with one byte of properties.
	if at+2 >= len(header) || header[1]&3 != 0 || header[at] != 0x21 || header[at+1] != 1 {
		return 0, false
	}
	return header[at+2], true
}
