package load

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"ppscript/runtime/record/sent"
)

// This file reads the texts that programs keep by their hash (package longtext), and takes
// them away before there is no room for new ones: a program that meets one again keeps it again.
// What was taken away is remembered until that has happened twice.

// longTexts are the long texts that were read, or taken away.
type longTexts struct {
	total       uint64 // texts that had been kept when they were taken away last
	recent, old map[[sent.LongKey]byte][]byte
}

// mostLong bounds how many of the texts that were read are remembered.
const mostLong = 1 << 13

// LongText is the text with a hash, nil if it is not known any more; it is shared.
func LongText(r *Run, hash []byte) []byte {
	t := &r.send.long
	key := [sent.LongKey]byte(hash)
	if text := t.recent[key]; text != nil {
		return text
	}
	text := t.old[key]
	if text == nil && r.maps[LongTextsMap.Of()] != nil {
		m := r.words(LongTextsMap.Of())
		v := make([]uint64, m.value)
		if m.lookup(hash, v) == nil {
			text = longText(v)
		}
	}
	if text != nil {
		t.keep(key, text)
	}
	return text
}

// keep remembers a text.
func (t *longTexts) keep(key [sent.LongKey]byte, text []byte) {
	if t.recent == nil || len(t.recent) >= mostLong {
		t.recent, t.old = map[[sent.LongKey]byte][]byte{}, t.recent
	}
	t.recent[key] = text
}

// longText is the text in a value of the map.
func longText(words []uint64) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
		if n := bytes.IndexByte(b[len(b)-8:], 0); n >= 0 {
			return b[: len(b)-8+n : len(b)-8+n]
		}
	}
	return b
}

// A reader reads texts and keys out of maps.
type reader struct{ *Run }

// sweep takes the long texts away if half of their room is taken.
func (r reader) sweep() error {
	if r.maps[LongTextsMap.Of()] == nil {
		return nil
	}
	var made [1]uint64
	if err := r.words(LongCountMap.Of()).lookup(make([]byte, 4), made[:]); err != nil {
		return fmt.Errorf("count the long texts: %w", err)
	}
	t, m := &r.send.long, r.words(LongTextsMap.Of())
	if made[0]-t.total < uint64(m.entries)/2 {
		return nil
	}
	t.total = made[0]
	t.recent, t.old = map[[sent.LongKey]byte][]byte{}, t.recent
	var keys [][sent.LongKey]byte
	err := m.walk(func(key []byte, values []uint64) {
		k := [sent.LongKey]byte(key)
		t.recent[k] = longText(values)
		keys = append(keys, k)
	})
	for i := range keys {
		if err == nil {
			err = deleteKey(m, keys[i][:])
		}
	}
	if err != nil {
		return fmt.Errorf("take long texts away: %w", err)
	}
	return nil
}

// text is the text in a column of a key, or in a state.
func (r reader) text(place []byte) []byte {
	return sent.TextIn(place, func(hash []byte) []byte { return LongText(r.Run, hash) })
}
