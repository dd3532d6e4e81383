package sent

import (
	"bytes"
	"encoding/binary"
)

// This file reads long texts: texts that are longer than the column or map entry in
// which programs keep a text, here called its place.
//
// A place has a fixed size and ends with at least one zero. A text that does not fit is stored
// once, in a map, by a hash of 128 bits. Its place has the first bytes of the text, the hash, the
// length, and a mark in the last byte, which is zero for other texts. So two places are equal if
// and only if their texts are equal, and code that compares, copies or counts places needs no
// special case. A program that stores a text compares it with the text that is already stored under
// the hash, so collisions are detected (package longtext).

// Offsets in a place for a text, and its size.
const (
	LongFront  = 104 // bytes of the text, from its beginning
	LongHash   = LongFront
	LongLength = LongHash + LongKey // u56
	LongMark   = LongRoom - 1
	LongRoom   = 128
)

// LongKey is the size of the hash, and LongMost the size of the longest text.
const (
	LongKey  = 16
	LongMost = 4096
)

// TextIn returns the text in a place. long returns a stored long text, by its hash. If that
// text was removed, TextIn returns its first bytes and "...".
func TextIn(place []byte, long func(hash []byte) []byte) []byte {
	if len(place) != LongRoom || place[LongMark] == 0 {
		text, _, _ := bytes.Cut(place, []byte{0})
		return text
	}
	if text := whole(place, long); text != nil {
		return text
	}
	return append(bytes.Clone(place[:LongFront]), cutMark...)
}

// whole returns the stored long text of a place; nil if it was removed.
func whole(place []byte, long func(hash []byte) []byte) []byte {
	if long == nil {
		return nil
	}
	text := long(place[LongHash:LongLength])
	if uint64(len(text)) != binary.LittleEndian.Uint64(place[LongLength:])<<8>>8 {
		return nil
	}
	return text
}

// FindLong sets the function that returns long texts.
func FindLong(records []Record, long func(hash []byte) []byte) {
	for i := range records {
		records[i].Long = long
	}
}
