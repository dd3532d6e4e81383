// Package symbolize answers questions about the symbols of a program, as gperftools asks pprof. The
// command line calls it; it opens the program, and nothing else.
package symbolize

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/target/task"
	"ppscript/runtime/text/diag"
)

// mapsLine is a line of /proc/PID/maps.
var mapsLine = regexp.MustCompile(`^[0-9a-f]+-[0-9a-f]+ [r-][w-][x-][ps-] `)

// Run answers as gperftools expects of "pprof --symbols PROGRAM", so that
// PPROF_PATH can name us: mappings as in /proc/PID/maps on in, then
// a line for each question. An address, 0x..., gets function+0xOFFSET or ??;
// the name of a function gets its offset in the program's file. Confine is called
// before the file is opened.
func Run(args []string, from io.Reader, to io.Writer, confine func()) error {
	if len(args) != 1 {
		return diag.Errorf(diag.Usage, "--symbols", strings.Join(args, " "), "got %d files, want one",
			len(args)).
			WithHint("write: ppscript --symbols PROGRAM < QUESTIONS")
	}
	confine()
	file, err := symbol.OpenFileSymbols(args[0])
	if err != nil {
		return &diag.Error{Op: "read symbols of", Subject: args[0], Cause: err, Class: diag.Usage}
	}
	const pid = 1 // whatever its number was
	maps := task.NewMappings(task.MappingsOptions{NoProc: true})
	defer maps.Close()
	names := symbol.New(symbol.Options{Maps: maps})
	w := bufio.NewWriter(to)
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadString('\n')
		line = strings.TrimSpace(line)
		switch hex, isAddr := strings.CutPrefix(line, "0x"); {
		case line == "":
		case mapsLine.MatchString(line):
			maps.Read(pid, []byte(line))
		case isAddr:
			addr, err := strconv.ParseUint(hex, 16, 64)
			if err != nil {
				return diag.Errorf(diag.Usage, "--symbols", line, "not an address of 64 bits")
			}
			w.WriteString(nameAt(names, pid, addr) + "\n")
		default:
			if off, _, ok := file.Lookup(line); ok {
				fmt.Fprintf(w, "%#x\n", off)
			} else {
				w.WriteString("??\n")
			}
		}
		if err == io.EOF {
			return w.Flush()
		}
		if err != nil {
			return &diag.Error{Op: "read", Subject: "standard input", Cause: err}
		}
		// A user who asks one question after the other waits for the answer.
		if in.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

// nameAt is the function at an address of the process.
func nameAt(names *symbol.Symbolizer, pid int32, addr uint64) string {
	f := names.Resolve(pid, pid, addr, 0)
	if last := f[len(f)-1]; last.Symbol != symbol.Unknown {
		return fmt.Sprintf("%s+%#x", last.Symbol, last.Offset)
	}
	return "??"
}
