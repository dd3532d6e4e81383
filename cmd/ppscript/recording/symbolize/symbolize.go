// Package symbolize translates addresses of a program to function names in the protocol by which
// gperftools calls pprof, for ppscript --symbols. It opens only the program's file.
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

// mapsLine matches a line of /proc/PID/maps.
var mapsLine = regexp.MustCompile(`^[0-9a-f]+-[0-9a-f]+ [r-][w-][x-][ps-] `)

// Run answers as gperftools expects of "pprof --symbols PROGRAM", so that
// PPROF_PATH can name ppscript. Its input from has mappings as in /proc/PID/maps,
// then a line for each question. For an address, 0x..., the answer is
// function+0xOFFSET or ??; for the name of a function, its offset in the
// program's file. confine is called before the file is opened.
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
	const pid = 1 // any number: the maps do not name it
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
		// An interactive user waits for each answer, so flush when no further
		// question is buffered.
		if in.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

// nameAt returns the function at an address of the process as
// function+0xOFFSET, or ??.
func nameAt(names *symbol.Symbolizer, pid int32, addr uint64) string {
	f := names.Resolve(pid, pid, addr, 0)
	if last := f[len(f)-1]; last.Symbol != symbol.Unknown {
		return fmt.Sprintf("%s+%#x", last.Symbol, last.Offset)
	}
	return "??"
}
