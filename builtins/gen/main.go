// Command gen writes builtins/REFERENCE.md from the declarations. Run it from
// the root of the module, or through go generate.
package main

import (
	"fmt"
	"os"

	"ppscript/builtins/all"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write() error {
	r, err := all.Registry()
	if err != nil {
		return err
	}
	path := "builtins/REFERENCE.md"
	if _, err := os.Stat("builtin.go"); err == nil {
		path = "REFERENCE.md" // go generate runs in the package's folder
	}
	return os.WriteFile(path, []byte(r.Reference()), 0o644)
}
