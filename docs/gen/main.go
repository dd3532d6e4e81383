// Command gen writes docs/schema.json from docs/formats.md. Run it through go generate.
package main

import (
	"fmt"
	"os"

	"ppscript/docs"
	"ppscript/docs/schema"
)

func main() {
	b, err := schema.Of(docs.Formats)
	if err == nil {
		err = os.WriteFile("schema.json", b, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen: docs/formats.md:", err)
		os.Exit(1)
	}
}
