package probe

// globMatch matches names of functions: * is any text, also with slashes and
// dots, ? any byte, [a-z] one of a set, [^a-z] none of it.
func globMatch(pattern, name string) bool {
	// back and resume say where to go on when the rest does not match: the
	// last star swallows one byte more.
	back, resume := -1, 0
	p, n := 0, 0
	for n < len(name) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				back, resume = p, n
				p++
				continue
			}
			if width, ok := matchOne(pattern[p:], name[n]); ok {
				p += width
				n++
				continue
			}
		}
		if back < 0 {
			return false
		}
		resume++
		p, n = back+1, resume
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches one byte and returns how long that part of the pattern is.
// A bracket that does not close is itself.
func matchOne(p string, c byte) (int, bool) {
	switch p[0] {
	case '?':
		return 1, true
	case '[':
		i, not, hit := 1, false, false
		if i < len(p) && (p[i] == '^' || p[i] == '!') {
			not = true
			i++
		}
		for start := i; i < len(p); i++ {
			if p[i] == ']' && i > start {
				return i + 1, hit != not
			}
			if i+2 < len(p) && p[i+1] == '-' && p[i+2] != ']' {
				hit = hit || p[i] <= c && c <= p[i+2]
				i += 2
				continue
			}
			hit = hit || p[i] == c
		}
	}
	return 1, p[0] == c
}
