package dso

// Known is a file that was found before, by its name and its build-id; nil if there is none.
func (s *Store) Known(name, buildID string) *File {
	is := func(f *File) bool { return f.Name() == name && f.BuildID == buildID }
	if f := s.byBuild[buildID]; f != nil && is(f) {
		return f
	}
	for _, f := range s.byID {
		if is(f) {
			return f
		}
	}
	for _, f := range s.byPath {
		if is(f) {
			return f
		}
	}
	return nil
}
