package expr

import "bytes"

// This file matches globs: * any text, ? any byte, [abc] [a-z] a byte of a
// set, [!a] [^a] a byte not of it. A ] first in a set, and a [ that is never
// closed, stand for themselves. The whole text must match.

// globMatch matches with one step back per star, so in at most
// len(pattern) * len(s) steps.
func globMatch(pattern, s []byte) bool {
	p, i := 0, 0
	star, mark := -1, 0
	for i < len(s) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				star, mark = p, i
				p++
				continue
			}
			if n, ok := globByte(pattern[p:], s[i]); ok {
				p += n
				i++
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

// globByte matches one byte with the head of a pattern, n bytes long.
func globByte(pattern []byte, c byte) (n int, ok bool) {
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		end := setEnd(pattern)
		if end < 0 {
			break
		}
		set, not := pattern[1:end], false
		if set[0] == '!' || set[0] == '^' {
			set, not = set[1:], true
		}
		in := false
		for i := 0; i < len(set); i++ {
			if i+2 < len(set) && set[i+1] == '-' {
				in = in || set[i] <= c && c <= set[i+2]
				i += 2
				continue
			}
			in = in || set[i] == c
		}
		return end + 1, in != not
	}
	return 1, pattern[0] == c
}

// setEnd is where the set that opens the pattern is closed, -1 if nowhere.
func setEnd(pattern []byte) int {
	i := 1
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		i++
	}
	i++ // the first member, even if it is ]
	if i > len(pattern) {
		return -1
	}
	if end := bytes.IndexByte(pattern[i:], ']'); end >= 0 {
		return i + end
	}
	return -1
}

// matcher is a glob that is known when the plan is built.
type matcher struct {
	kind    byte // 'e' equal, 'p' prefix, 's' suffix, 'c' contains, 'g' glob
	pattern []byte
}

func compileGlob(s string) *matcher {
	p := []byte(s)
	body := bytes.Trim(p, "*")
	if bytes.ContainsAny(body, "*?[") {
		return &matcher{'g', p}
	}
	front, back := len(p) > 0 && p[0] == '*', len(p) > 0 && p[len(p)-1] == '*'
	switch {
	case front && back:
		return &matcher{'c', body}
	case front:
		return &matcher{'s', body}
	case back:
		return &matcher{'p', body}
	}
	return &matcher{'e', p}
}

func (m *matcher) match(s []byte) bool {
	switch m.kind {
	case 'e':
		return bytes.Equal(s, m.pattern)
	case 'p':
		return bytes.HasPrefix(s, m.pattern)
	case 's':
		return bytes.HasSuffix(s, m.pattern)
	case 'c':
		return bytes.Contains(s, m.pattern)
	}
	return globMatch(m.pattern, s)
}
