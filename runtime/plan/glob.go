package plan

import "path"

// Glob matches names of events: * ? [a-z] [^a].
func Glob(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
