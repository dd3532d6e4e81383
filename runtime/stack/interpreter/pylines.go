package interpreter

// This file finds source lines in the three formats of code objects: Objects/lnotab_notes.txt of
// 3.9 and 3.10, and Objects/locations.md since then.

// lineOf is the line of a byte of the code, 0 if it has none.
func lineOf(minor int, table []byte, first, at int) int {
	switch {
	case at < 0:
		return first
	case minor < 10:
		return lineOfPairs(table, first, at)
	case minor == 10:
		return lineOfRanges(table, first, at)
	}
	return lineOfEntries(table, first, at)
}

// lineOfPairs is for 3.9: pairs of increments of bytes and lines.
func lineOfPairs(table []byte, line, at int) int {
	addr := 0
	for ; len(table) >= 2; table = table[2:] {
		if addr += int(table[0]); addr > at {
			break
		}
		line += int(int8(table[1]))
	}
	return line
}

// lineOfRanges is for 3.10: ranges of bytes with a line.
func lineOfRanges(table []byte, line, at int) int {
	end := 0
	for ; len(table) >= 2; table = table[2:] {
		step := int8(table[1])
		if step != -128 {
			line += int(step)
		}
		if end += int(table[0]); end > at {
			if step == -128 {
				return 0
			}
			return line
		}
	}
	return 0
}

// lineOfEntries is for 3.11 and later: entries for a number of two-byte instructions, with
// columns.
func lineOfEntries(table []byte, line, at int) int {
	end := 0
	for len(table) > 0 {
		head := table[0]
		if head&0x80 == 0 {
			return 0 // not the begin of an entry
		}
		table = table[1:]
		end += 2 * (int(head&7) + 1)
		none := false
		switch kind := head >> 3 & 15; {
		case kind == 15:
			none = true
		case kind == 14:
			line += signed(&table)
			for range 3 {
				varint(&table)
			}
		case kind == 13:
			line += signed(&table)
		case kind >= 10:
			line += int(kind) - 10
			table = table[min(2, len(table)):]
		default:
			table = table[min(1, len(table)):]
		}
		if end > at {
			if none {
				return 0
			}
			return line
		}
	}
	return 0
}

func varint(b *[]byte) (n int) {
	for shift := 0; len(*b) > 0; shift += 6 {
		x := (*b)[0]
		*b = (*b)[1:]
		if shift < 36 {
			n |= int(x&63) << shift
		}
		if x&64 == 0 {
			break
		}
	}
	return n
}

func signed(b *[]byte) int {
	n := varint(b)
	if n&1 != 0 {
		return -(n >> 1)
	}
	return n >> 1
}
