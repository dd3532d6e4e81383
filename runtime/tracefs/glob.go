package tracefs

// glob reports that the whole of s matches pattern: * any run, ? any byte,
// [abc] [a-z] one of a set, [^a] and [!a] one not of the set. A bracket that
// is never closed stands for itself.
//
// It backtracks to the last star only, which is enough, and keeps a hostile
// pattern from taking exponential time.
func glob(pattern, s string) bool {
	star, mark := -1, 0
	p, i := 0, 0
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, i
			p++
			continue
		}
		if n, ok := matchOne(pattern[p:], s[i]); ok {
			p, i = p+n, i+1
			continue
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

// matchOne matches c with the first element of pattern, which is no star, and
// returns the element's length.
func matchOne(pattern string, c byte) (int, bool) {
	switch {
	case pattern == "":
		return 0, false
	case pattern[0] == '?':
		return 1, true
	case pattern[0] != '[':
		return 1, pattern[0] == c
	}
	i, negate, in := 1, false, false
	if i < len(pattern) && (pattern[i] == '^' || pattern[i] == '!') {
		negate = true
		i++
	}
	for first := i; i < len(pattern); {
		if pattern[i] == ']' && i > first {
			return i + 1, in != negate
		}
		lo, hi := pattern[i], pattern[i]
		i++
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			hi = pattern[i+1]
			i += 2
		}
		in = in || lo <= c && c <= hi
	}
	return 1, c == '['
}

func isGlob(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?', '[':
			return true
		}
	}
	return false
}
