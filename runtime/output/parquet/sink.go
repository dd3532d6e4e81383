package parquet

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"ppscript/runtime/event"
	"ppscript/runtime/output"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"
)

// Option is the name of the option with the directory.
const Option = "parquet"

// Opener opens a sink that writes files in a directory, which is made if it
// does not exist.
func Opener(dir string) output.Opener {
	return output.Opener{Option: Option, Where: dir, Open: func(context.Context) (output.Sink, error) {
		return open(dir)
	}}
}

// A sink writes the files of a run. It implements output.Sink.
type sink struct {
	render.Ignore
	dir       string
	created   bool // the directory was made by this run
	about     output.About
	zstd      *zstd.Encoder
	files     []*out
	named     map[string]*out
	fileNames map[string]bool   // used names of files
	loss      map[string]uint64 // losses that no result has
	failed    bool
}

// An out is the file of one result.
type out struct {
	*file
	to      *os.File
	path    string
	name    string
	title   string
	slots   map[string]*slot
	lead    [len(leads)]*slot        // for results of intervals, see leads
	events  map[*event.Stream]*shape // for a log
	log     *logSlots
	slow    *pairSlots
	loss    event.Loss
	costs   result.Costs
	samples uint64
	omitted int
}

func open(dir string) (*sink, error) {
	s := &sink{dir: dir, named: map[string]*out{}, fileNames: map[string]bool{},
		loss: map[string]uint64{}}
	fail := func(err error) (*sink, error) {
		return nil, diag.FileError("write --"+Option, dir, err).
			OrHint("give a directory that you may write to, or one to make in a directory that exists")
	}
	err := os.Mkdir(dir, 0o700)
	s.created = err == nil
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fail(err)
	}
	// Reports early, before a long run, that files cannot be made.
	probe, err := os.CreateTemp(dir, ".ppscript")
	if err != nil {
		return fail(err)
	}
	err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	if err != nil {
		return fail(err)
	}
	return s, nil
}

// Begin implements output.Sink.
func (s *sink) Begin(about output.About) (err error) {
	s.about = about
	s.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<18))
	return err
}

// wall returns a time in ns since 1970; false if it is unknown.
func (s *sink) wall(t event.Time) (int64, bool) {
	if s.about.Clock == nil {
		return 0, false
	}
	at := s.about.Clock(t)
	return at.UnixNano(), !at.IsZero()
}

// of returns the file of a result, and makes it if it is new.
func (s *sink) of(name, title string) (*out, error) {
	if o := s.named[name]; o != nil {
		return o, nil
	}
	path := filepath.Join(s.dir, s.fileName(name)+".parquet")
	// The file must be new: in another user's directory, an existing one may be a link, or readable
	// by others.
	if err := os.Remove(path + ".tmp"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	to, err := outfile.Open(context.Background(), path+".tmp", os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	o := &out{file: newFile(to, s.zstd), to: to, path: path, name: name, title: title,
		slots: map[string]*slot{}}
	s.named[name], s.files = o, append(s.files, o)
	return o, nil
}

// fileName returns a unique name for the file of a result, of harmless
// characters.
func (s *sink) fileName(name string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+"
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(plain, r) {
			return r
		}
		return '_'
	}, name)
	if name = strings.TrimLeft(name, "."); len(name) > 100 {
		name = name[:100]
	}
	name = cmp.Or(name, "result")
	for s.fileNames[name] {
		name += "_"
	}
	s.fileNames[name] = true
	return name
}

// slot returns the slot of a column of a result, and makes it if it is new. number distinguishes
// columns with the same name.
func (o *out) slot(name string, number int) *slot {
	key := name
	if number > 0 {
		key += "\x00" + string(rune(number))
	}
	at := o.slots[key]
	if at == nil {
		at = o.file.slot(name)
		o.slots[key] = at
	}
	return at
}

// Note implements render.Renderer: it counts losses that no result has.
func (s *sink) Note(kind string, fields ...render.NoteField) error {
	if kind != "loss" {
		return nil
	}
	for _, f := range fields {
		s.loss[f.Name] += f.Value.Uint()
	}
	return nil
}

// Close implements output.Sink: it completes the files and renames them. After an
// error, files that can be read are kept, with a note that they end early.
func (s *sink) Close() error {
	var errs []error
	for _, o := range s.files {
		errs = append(errs, s.end(o))
	}
	if s.files = nil; s.zstd == nil && s.created {
		errs = append(errs, os.Remove(s.dir)) // the run ended before it began
	}
	if s.zstd != nil {
		errs = append(errs, s.zstd.Close())
	}
	return errors.Join(errs...)
}

func (s *sink) end(o *out) error {
	err := o.err
	if err == nil {
		err = o.close(s.notes(o))
	}
	if err = errors.Join(err, o.to.Close()); err == nil {
		err = os.Rename(o.path+".tmp", o.path)
	}
	if err != nil {
		os.Remove(o.path + ".tmp") // it is incomplete and cannot be read
		d := diag.FileError("write", o.path, err)
		d.Class = diag.Run
		return d
	}
	return nil
}

// notes returns the metadata of a file: its result, script, losses and so on.
func (s *sink) notes(o *out) []note {
	counts := map[string]uint64{}
	if o.log != nil {
		maps.Copy(counts, s.loss)
	}
	for _, c := range o.loss.Counts() {
		if c.N > 0 {
			counts[c.Name] = c.N
		}
	}
	facts := []note{{"result", o.name}, {"script", s.about.Script}, {"command", asJSON(s.about.Args)},
		{"loss", asJSON(counts)}}
	if c := o.costs.Whole(); c.Sampled() {
		m := &result.Meta{Cost: c}
		facts = append(facts, note{"estimated", render.Remarks(m)})
	}
	if o.title != "" {
		facts = append(facts, note{"title", o.title})
	}
	if o.log == nil {
		facts = append(facts, note{"samples", asJSON(o.samples)})
	}
	if o.omitted > 0 {
		facts = append(facts, note{"omitted", asJSON(o.omitted)})
	}
	if s.failed {
		facts = append(facts, note{"ended_early", "true"})
	}
	return facts
}

// lead writes the first columns of all results, see leads: the interval, and the number of
// events missing in it.
func (s *sink) lead(o *out, m *result.Meta) {
	o.lead[0].signed(o.file, int64(m.Seq))
	o.lead[1].value(o.file, event.DurationOf(int64(m.Begin)))
	o.lead[2].value(o.file, event.DurationOf(int64(m.End)))
	if wall := o.lead[3]; !m.Wall.IsZero() {
		wall.moment(o.file, m.Wall.UnixNano())
	} else if ns, known := s.wall(m.End); known {
		wall.moment(o.file, ns)
	}
	o.lead[4].unsigned(o.file, m.Loss.Missing())
}
