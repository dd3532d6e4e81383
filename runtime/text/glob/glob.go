// Package glob matches texts with patterns as users write them for events,
// functions and names: * any text, ? any byte, [abc] [a-z] a byte of a set,
// [!a] [^a] a byte not of it. Slashes and dots have no special meaning, and
// nothing can be escaped. A ] first in a set, and a [ that is never closed,
// stand for themselves. The whole text must match.
package glob

// Match reports that the whole of s matches. It takes one step back per star,
// so at most len(pattern) * len(s) steps, and allocates nothing.
func Match[T string | []byte](pattern, s T) bool {
	p, i := 0, 0
	star, mark := -1, 0
	for i < len(s) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				star, mark = p, i
				p++
				continue
			}
			if n, ok := one(pattern[p:], s[i]); ok {
				p, i = p+n, i+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		p, i = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// one matches a byte with the head of a pattern, which is not a star. n is the
// length of the head in bytes.
func one[T string | []byte](pattern T, c byte) (n int, ok bool) {
	end := -1
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		end = SetEnd(pattern)
	}
	if end < 0 {
		return 1, pattern[0] == c
	}
	i, not, in := 1, false, false
	if pattern[i] == '!' || pattern[i] == '^' {
		not = true
		i++
	}
	for ; i < end; i++ {
		if i+2 < end && pattern[i+1] == '-' {
			in = in || pattern[i] <= c && c <= pattern[i+2]
			i += 2
			continue
		}
		in = in || pattern[i] == c
	}
	return end + 1, in != not
}

// SetEnd is the index of the ] that closes the set at the begin of the pattern,
// -1 if there is none.
func SetEnd[T string | []byte](pattern T) int {
	i := 1
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		i++
	}
	for i++; i < len(pattern); i++ { // the first member may be ]
		if pattern[i] == ']' {
			return i
		}
	}
	return -1
}
