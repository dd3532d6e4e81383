package expr

import (
	"bytes"

	"ppscript/runtime/text/glob"
)

// matcher is a constant glob, with the fast form to match it.
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
	return glob.Match(m.pattern, s)
}
