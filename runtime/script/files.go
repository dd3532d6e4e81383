package script

import (
	"crypto/sha256"
	"maps"
	"strings"
)

// Files are the modules that were loaded and do not come with the program, with the SHA-256 of
// what ran: files and libraries, whose authors the user may not know. Texts that the user typed are
// not among them.
func (h *Host) Files() map[string][sha256.Size]byte { return maps.Clone(h.loaded.sums) }

// foreign reports that a module does not come with the program, and was not typed.
func foreign(key string) bool { return !strings.HasPrefix(key, "@") && !strings.HasPrefix(key, "<") }
