package prompt

import (
	"os"
	"path/filepath"
)

// historyFile returns the path of the history: PPSCRIPTHISTORY, else in the user's
// state directory; "" if there is none.
func historyFile() string {
	if f, ok := os.LookupEnv("PPSCRIPTHISTORY"); ok {
		return f
	}
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	dir = filepath.Join(dir, "ppscript")
	if os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	return filepath.Join(dir, "history")
}
