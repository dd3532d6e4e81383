// Command gen writes builtins/REFERENCE.md and the stubs for editors from the declarations. Run it from
// the root of the module, or through go generate.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ppscript/builtins/all"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write() error {
	r, err := all.Tests(nil)
	if err != nil {
		return err
	}
	dir := "builtins"
	if _, err := os.Stat("builtin.go"); err == nil {
		dir = "." // go generate runs in the package's directory
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "REFERENCE.md"), []byte(r.Reference()), 0o644),
		os.WriteFile(filepath.Join(dir, "builtins.pyi"), []byte(r.Stubs()), 0o644))
}
