package sent

import (
	"bytes"
	"encoding/binary"
)

// This file reads texts that are longer than the places that programs keep them in.
//
// A place for a text has a fixed size, and ends with a zero at least. A text that is too long
// for it is kept elsewhere, once, by a hash of 128 bits. In its place stand its first bytes,
// the hash, how long it is, and a mark in the last byte, which no other text has there. So
// places are equal where texts are, and what compares, copies or counts by words need not know.
// A program that keeps a text compares it with the one that is there: two texts of one hash are found
// out (package longtext).

// The places in a place for a text, and its size.
const (
	LongFront  = 104 // bytes of the text, from its beginning
	LongHash   = LongFront
	LongLength = LongHash + LongKey // u56
	LongMark   = LongRoom - 1
	LongRoom   = 128
)

// LongKey is the size of the hash, and LongMost that of the longest text.
const (
	LongKey  = 16
	LongMost = 4096
)

// TextIn is the text in a place; long finds one that is kept elsewhere, by its hash. One that
// is not there any more is cut.
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

// whole is a text that is kept elsewhere; nil if it is not there.
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

// FindLong has texts that are longer than their places be found by long.
func FindLong(records []Record, long func(hash []byte) []byte) {
	for i := range records {
		records[i].Long = long
	}
}
