package testkit

import (
	"os"
	"path/filepath"
)

// Programs that read files from ppscript.
var (
	Node       = program("node", "nodejs", true)
	Chromium   = program("chromium", "chromium", true)
	Prometheus = program("prometheus", "prometheus", true)
	Vim        = program("vim", "vim", true)
)

// nodePlaces are the directories in which npm install -g puts modules; $NODE_PATH
// comes before them.
var nodePlaces = []string{"/usr/local/lib/node_modules", "/usr/lib/node_modules"}

// NodeModule is the need of a module for Node.
func NodeModule(name string) Need {
	return Need{"node module " + name, true, func() string {
		if NodeModulePath(name) == "" {
			return "npm install -g " + name
		}
		return ""
	}}
}

// NodeModulePath returns the directory of a module; "" if it is not installed.
func NodeModulePath(name string) string {
	for _, dir := range append(filepath.SplitList(os.Getenv("NODE_PATH")), nodePlaces...) {
		if _, err := os.Stat(filepath.Join(dir, name, "package.json")); err == nil {
			return filepath.Join(dir, name)
		}
	}
	return ""
}
