// Package resolve adds function names to saved results without names, for ppscript resolve. The
// machine where a program runs may lack its symbols, or the time to read them. The package reads
// JSON, finds each program file by its build-id, and writes the same JSON with names. It opens no
// events.
package resolve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"ppscript/cmd/ppscript/recording/symbolsource"
	"ppscript/runtime/session"
	"ppscript/runtime/stack/debuginfod"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/system/infile"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/target/task"
	"ppscript/runtime/text/diag"
)

// mostLine bounds the length of a JSON record, in bytes.
const mostLine = 256 << 20

// Environment has the parts of the command line that the command uses.
type Environment struct {
	Stdout io.Writer
	Say    func(text string)
	// Confine enters the sandbox before a file from elsewhere is read. Only the paths in writes
	// stay writable; network permits connections to servers.
	Confine func(writes []string, network bool)
}

type options struct {
	output     string
	from       []string
	debuginfod []string
	lines      bool
	mangled    bool
}

// Command returns the subcommand resolve.
func Command(env Environment) *cobra.Command {
	o := options{}
	c := &cobra.Command{
		Use: "resolve FILE [-o OUT]", Short: "Name the functions in results that were saved without names",
		Long: `Reads results that a run wrote with --format json (- is standard input), and names the functions in stacks that have no name,
for example after a run with --names later, or on a machine without symbols. A program file is used only if it has the same build-id as the program that
ran. It is searched at its path, in ~/.debug and /usr/lib/debug, and in the places that the options name. Everything else in the results stays the same.`,
		Example: `    web1$ ppscript profile -g --names later --format json -o cpu.json -- make
    dev$  ppscript resolve cpu.json -o named.json --symbols-from ./build
    dev$  ppscript resolve cpu.json --debuginfod https://debuginfod.debian.net`,
		RunE: func(_ *cobra.Command, args []string) error {
			// The value of --debuginfod is optional, so in "--debuginfod URL" the URL arrives as
			// an argument.
			args = slices.DeleteFunc(args, func(word string) bool {
				at := slices.Index(o.debuginfod, symbolsource.Environment)
				if at >= 0 && symbolsource.IsURL(word) {
					o.debuginfod[at] = word
					return true
				}
				return false
			})
			if len(args) != 1 {
				return diag.Errorf(diag.Usage, "resolve", "", "got %d files, want one", len(args)).
					WithHint("write: ppscript resolve FILE -o OUT")
			}
			return o.run(env, args[0])
		},
	}
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "write to `FILE`, else to standard output")
	f.StringArrayVar(&o.from, "symbols-from", nil,
		"look for files in `PLACE`: a directory, or the URL of a debuginfod server")
	f.StringArrayVar(&o.debuginfod, "debuginfod", nil,
		"ask the server at `URL`; without a URL, the servers of $DEBUGINFOD_URLS")
	f.Lookup("debuginfod").NoOptDefVal = symbolsource.Environment
	f.BoolVar(&o.lines, "lines", false, "also source files, lines and inlined functions")
	f.BoolVar(&o.mangled, "mangled", false, "names of C++ and Rust as the linker has them")
	return c
}

// run names the functions in the file at path.
func (o *options) run(env Environment, path string) (err error) {
	var s session.Symbols
	for _, text := range o.from {
		if err := symbolsource.From(&s, text); err != nil {
			return err
		}
	}
	for _, text := range o.debuginfod {
		if err := symbolsource.Debuginfod(&s, text); err != nil {
			return err
		}
	}
	in := os.Stdin
	if path != "-" {
		if in, err = infile.OpenNow(path); err != nil {
			return diag.FileError("read results", path, err).
				OrHint("give a file that a run wrote with --format json")
		}
		defer in.Close()
	}
	out := env.Stdout
	if o.output != "" {
		if same(in, o.output) {
			return diag.Errorf(diag.Usage, "write", o.output, "it is the file that is read").
				WithHint("give -o another file")
		}
		f, err := outfile.Open(context.Background(), o.output, os.O_CREATE|os.O_TRUNC)
		if err != nil {
			return diag.FileError("write", o.output, err).OrHint("give -o a file that can be written")
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	n, err := open(o, &s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	var writes []string
	if s.Servers.Cache != "" {
		writes = append(writes, s.Servers.Cache)
	}
	env.Confine(writes, len(s.Servers.URLs) > 0)
	if err := n.copy(in, out, path); err != nil {
		return err
	}
	for _, line := range n.messages() {
		env.Say(line)
	}
	return nil
}

func same(in *os.File, out string) bool {
	a, err := in.Stat()
	b, err2 := os.Stat(out)
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// names finds function names in program files.
type names struct {
	store   *dso.Store
	maps    *task.Mappings
	symbols *symbol.Symbolizer
	fetch   *debuginfod.Client
	named   int
	unnamed int
	missing int // files that servers did not send in time
}

func open(o *options, s *session.Symbols) (*names, error) {
	n := &names{}
	if len(s.Servers.URLs) > 0 {
		var err error
		n.fetch, err = debuginfod.New(debuginfod.Options{URLs: s.Servers.URLs, Dir: s.Servers.Cache})
		if err != nil {
			return nil, diag.FileError("write the cache", s.Servers.Cache, err).
				OrHint("set XDG_CACHE_HOME to a directory of yours")
		}
	}
	elsewhere := dso.Elsewhere{Plain: s.Servers.Plain}
	if n.fetch != nil {
		elsewhere.Fetch = n.fetch
	}
	// The results may be from the running kernel; its build-id is compared.
	n.store = dso.NewStore(dso.Options{NoProc: true, SameKernel: true,
		DebugDirs: append(s.DebugDirs, dso.UsualDebugDirs()...), Elsewhere: elsewhere})
	n.store.VDSO() // read before the sandbox, which may forbid to read this process's memory
	n.maps = task.NewMappings(task.MappingsOptions{NoProc: true, Files: n.store})
	n.symbols = symbol.New(symbol.Options{Maps: n.maps, Lines: o.lines, Inlines: o.lines, Mangled: o.mangled})
	return n, nil
}

func (n *names) Close() error {
	if n.fetch == nil {
		return n.maps.Close()
	}
	return errors.Join(n.fetch.Close(), n.maps.Close())
}

// copy copies records from in to to and adds names. path is for error messages.
func (n *names) copy(in io.Reader, to io.Writer, path string) error {
	fail := func(line int, err error) error {
		return diag.Errorf(diag.Usage, "read results", path, "line %d: %w", line, err).
			WithHint("give a file that a run wrote with --format json")
	}
	w := bufio.NewWriter(to)
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<16), mostLine)
	at := 0
	for lines.Scan() {
		at++
		line := lines.Bytes()
		if len(line) > 0 && !json.Valid(line) {
			return fail(at, errors.New("not JSON"))
		}
		if len(line) > 0 {
			if n.fetch != nil {
				// A first pass finds the missing files, so that all files of a record
				// are fetched at once.
				if _, err := rewrite(nil, line, n.look, 0); err != nil {
					return fail(at, err)
				}
				n.settle(line)
			}
			named, err := rewrite(nil, line, n.name, 0)
			if err != nil {
				return fail(at, err)
			}
			line = named
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return &diag.Error{Op: "write", Subject: "results", Cause: err}
		}
	}
	if err := lines.Err(); err != nil {
		return fail(at+1, err)
	}
	return w.Flush()
}

// settle waits until the files for a record have been fetched. A fetched program can
// cause a further fetch, of its debug file.
func (n *names) settle(line []byte) {
	for n.missing == 0 && n.fetch.Pending() > 0 {
		n.missing = n.fetch.Settle(nil)
		n.symbols.Fetched(n.store.Fetched())
		_, _ = rewrite(nil, line, n.look, 0) // the first pass has succeeded already
	}
	n.symbols.Fetched(n.store.Fetched())
}

// look is a namer that requests the needed files and changes nothing.
func (n *names) look(f, inner *frame) []frame {
	n.frames(f, inner)
	return []frame{*f}
}

// name is a namer that names the functions and counts them.
func (n *names) name(f, inner *frame) (out []frame) {
	for _, x := range n.frames(f, inner) {
		if x.Symbol == symbol.Unknown {
			n.unnamed++
			return []frame{*f}
		}
		out = append(out, frame{Addr: f.Addr, Symbol: x.Symbol, Offset: x.Offset, DSO: f.DSO,
			BuildID: f.BuildID, File: x.File, Line: x.Line, Inline: x.Inline})
	}
	n.named++
	return out
}

// frames returns the functions at a frame's address, several if some are inlined. The address is a
// return address unless the frame is the innermost in user space.
func (n *names) frames(f, inner *frame) []symbol.Frame {
	file := n.store.VDSO()
	if file == nil || file.BuildID != f.BuildID {
		file = n.store.Find(dso.Mapping{Path: f.DSO, BuildID: f.BuildID})
	}
	if file == nil {
		return []symbol.Frame{{Symbol: symbol.Unknown}}
	}
	return n.symbols.InFile(file, f.FileOffset, inner != nil && !inner.Kernel)
}

// messages returns the messages for the user at the end.
func (n *names) messages() (list []string) {
	if n.fetch != nil {
		list = n.fetch.Messages()
	}
	if n.missing > 0 {
		list = append(list, fmt.Sprintf("%d files did not come from debuginfod in time: "+
			"some functions have no names", n.missing))
	}
	text := fmt.Sprintf("%d frames are named", n.named)
	if n.unnamed > 0 {
		text += fmt.Sprintf(", %d are not: their files, or the symbols of these, are not here; "+
			"--symbols-from PLACE says where they are", n.unnamed)
	}
	return append(list, text)
}
