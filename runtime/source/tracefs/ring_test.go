package tracefs

import (
	"encoding/binary"
	"fmt"
)

// This file decodes pages of trace_pipe_raw: the same records that perf
// delivers, in ftrace's own ring buffer. Format: events/header_page and
// events/header_event.

// records appends the data of all events of a page to list.
func records(list [][]byte, page []byte) ([][]byte, error) {
	if len(page) < 16 {
		return list, fmt.Errorf("page of %d bytes", len(page))
	}
	// The commit word holds the length; its top bits say that events were
	// lost before this page.
	commit := binary.LittleEndian.Uint32(page[8:])
	if commit>>30 != 0 {
		return list, fmt.Errorf("events were lost: make the buffer larger")
	}
	if int(commit) > len(page)-16 {
		return list, fmt.Errorf("page of %d bytes commits %d", len(page), commit)
	}
	for b := page[16 : 16+commit]; len(b) >= 4; {
		head := binary.LittleEndian.Uint32(b)
		kind, delta := head&31, head>>5
		b = b[4:]
		n := int(kind) * 4
		switch kind {
		case 29: // padding
			if delta == 0 {
				return list, nil
			}
			n = int(binary.LittleEndian.Uint32(b))
			b = b[min(n, len(b)):]
			continue
		case 30, 31: // time extension, absolute time
			b = b[4:]
			continue
		case 0: // the length is in the next word, and counts it
			n = int(binary.LittleEndian.Uint32(b)) - 4
			b = b[4:]
		}
		if n < 0 || n > len(b) {
			return list, fmt.Errorf("record of %d bytes with %d left", n, len(b))
		}
		list = append(list, b[:n])
		b = b[(n+3)&^3:]
	}
	return list, nil
}
