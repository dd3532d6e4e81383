// Guest runs a command in an emulated guest, as package vm does for tests:
//
//	go run ./tests/vm/guest -kernel 6.12 -file ./ppscript -- 'ppscript doctor'
//
// Files land in /w, the working directory, unless "-file SRC:/PATH" says
// otherwise. The command's output and exit status are passed on; 125 means
// that the guest did not get that far.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"

	"ppscript/tests/vm"
)

func main() {
	g := vm.Guest{Files: map[string]string{}}
	flag.StringVar(&g.Arch, "arch", "amd64", "`architecture`: amd64 or arm64")
	flag.BoolVar(&g.CountInsns, "icount", false,
		"let time pass with instructions, which arm64 can count then")
	flag.StringVar(&g.Kernel, "kernel", "6.1", "`series` of the Debian kernel")
	flag.IntVar(&g.CPUs, "cpus", 1, "number of CPUs")
	flag.IntVar(&g.MemoryMiB, "memory", 512, "memory in `MiB`")
	flag.IntVar(&g.DiskMiB, "disk", 0, "size of an empty /dev/vda in `MiB`")
	flag.StringVar(&g.Append, "append", "", "more `words` for the kernel's command line")
	flag.DurationVar(&g.Timeout, "timeout", 0, "power off after that time (default 2m)")
	console := flag.Bool("console", false, "print the kernel's messages on stderr at the end")
	flag.Func("module", "load this module (repeatable)", func(s string) error {
		g.Modules = append(g.Modules, s)
		return nil
	})
	flag.Func("file", "copy `SRC[:PATH]` into the guest (repeatable)", func(s string) error {
		src, dst, ok := strings.Cut(s, ":")
		if !ok {
			dst = path.Join("/w", filepath.Base(src))
		}
		g.Files[dst] = src
		return nil
	})
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "guest: got", flag.NArg(), "commands, want one piece of shell")
		os.Exit(125)
	}
	if missing := vm.Missing(g.Arch); len(missing) > 0 {
		fmt.Fprintln(os.Stderr, "guest: needs packages: apt-get install", strings.Join(missing, " "))
		os.Exit(125)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	r, err := vm.Boot(ctx, g, flag.Arg(0), os.Stdout)
	cancel()
	if *console || err != nil {
		os.Stderr.Write(r.Console)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(125)
	}
	os.Exit(r.Status)
}
