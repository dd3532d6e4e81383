// Formats makes the catalogue of tracepoint formats from guests. ppscript uses it on machines where
// it may not read the kernel's own formats:
//
//	go run ./tests/vm/formats -o runtime/source/tracefs/shipped.zst
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"ppscript/tests/vm"
)

func main() {
	out := flag.String("o", "runtime/source/tracefs/shipped.zst", "the `file` to write")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	text, err := vm.MakeShipped(ctx, func(line string) { fmt.Fprintln(os.Stderr, line) })
	if err == nil {
		err = os.WriteFile(*out, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "formats:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "%s: %d bytes\n", *out, len(text))
}
