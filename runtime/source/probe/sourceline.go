package probe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ppscript/runtime/stack/symbol"
)

// This file finds the addresses of source lines, FILE:LINE.

// cutLine splits a name that is a source line; ok is false for other names.
func cutLine(name string) (file string, line int, ok bool) {
	i := strings.LastIndexByte(name, ':')
	if i < 1 || name[i-1] == ':' {
		return "", 0, false // a function of C++ or Rust
	}
	line, err := strconv.Atoi(name[i+1:])
	return name[:i], line, err == nil && line > 0
}

// lines returns the places at which the code of a source line begins.
func (s *Spec) lines(m *image, path, shown string) ([]place, error) {
	file, line, _ := cutLine(s.Name)
	if s.Kind == Uretprobe {
		return nil, s.fail(s.Name, shown, errors.New("lines do not return: functions do")).
			WithHint("uprobe(%q, %q), or the return of the function by its name", s.File, s.Name)
	}
	if s.Args != "" {
		return nil, s.fail(s.Name, shown, errors.New(
			"args: registers have arguments where a function begins, not in its lines")).
			WithHint("leave out args")
	}
	found, err := symbol.FindLine(path, file, line)
	var none *symbol.NoCode
	switch {
	case errors.As(err, &none) && len(none.Near) > 0:
		return nil, s.fail(s.Name, shown, err).WithHint("uprobe(%q, \"%s:%d\")", s.File, file, none.Near[0])
	case errors.As(err, &none):
		return nil, s.fail(s.Name, shown, err).
			WithHint("the sources that it was compiled from: readelf --debug-dump=decodedline %s | grep -i %s",
				path, file)
	case errors.Is(err, symbol.ErrNoLines):
		return nil, s.fail(s.Name, shown, err).
			WithHint("compile with -g, or install its debug symbols; functions have names without: nm -C %s", path)
	case err != nil:
		return nil, s.fail(s.Name, shown, err).WithHint("name a function instead")
	}
	files := map[string]bool{}
	var places []place
	for _, st := range found {
		files[st.File] = true
		fn, _ := m.at(st.Addr)
		places = append(places, place{name: s.Name, addr: st.Addr, fn: fn, line: true})
	}
	if len(files) > 1 {
		var names []string
		for _, st := range found {
			if files[st.File] {
				names = append(names, st.File)
				delete(files, st.File)
			}
		}
		return nil, s.fail(s.Name, shown, fmt.Errorf("several sources have that name: %s",
			strings.Join(names, ", "))).
			WithHint("give more of its path: uprobe(%q, \"%s:%d\")", s.File, names[0], line)
	}
	return places, s.checkMatches(len(places))
}
