package script

import (
	"crypto/sha256"
	"maps"
	"strings"
)

// Files lists the loaded files and libraries that do not come with the program, whose authors the
// user may not know, with the SHA-256 of the texts that ran. Texts typed by the user are left out.
func (h *Host) Files() map[string][sha256.Size]byte { return maps.Clone(h.loaded.sums) }

// foreign reports that a module does not come with the program, and was not typed
// by the user.
func foreign(key string) bool { return !strings.HasPrefix(key, "@") && !strings.HasPrefix(key, "<") }
