package dso

// FindByBuildID returns a file that was found before with this name and build-id; nil if there is
// none.
func (s *Store) FindByBuildID(name, buildID string) *File {
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
