package script

import (
	"slices"
	"strings"
)

// Files lists the modules that were loaded and do not come with the program:
// files and libraries, whose authors the user may not know. Texts that the user
// typed are not among them.
func (h *Host) Files() []string {
	var list []string
	for key := range h.loaded.byName {
		if !strings.HasPrefix(key, "@") && !strings.HasPrefix(key, "<") {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}
