// Package output adds further outputs to a run, besides the results that its script
// shows: files for other tools, servers, and pages. It decides which reports the files
// need, and passes the results to sinks. A Sink is one such output. The formats are in
// the packages below this one; packages render and picture have flame graphs and pprof.
// Package session delivers the reports.
package output

import (
	"slices"

	"ppscript/runtime/output/picture"
	"ppscript/runtime/plan"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/diag"
)

// Stdout as StackFiles.FlameGraph prints folded stacks to the standard output,
// between the results.
const Stdout = "-"

// StackFiles are the files that the stacks of a run are written to; "" is none.
type StackFiles struct {
	// FlameGraph is the path of a flame graph (.svg or .html), a file for pprof
	// (.pb.gz), or else of folded text. Stdout prints folded text.
	FlameGraph string
	// FlameBase is a file of folded stacks. If it is not "", FlameGraph shows
	// which functions grew and shrank since then.
	FlameBase string
	Pprof     string // path of a file for pprof
	// Profiles asks for the stacks of each interval, for sinks that send them.
	Profiles bool
}

// Profiles as plan.Stacks.File marks counts for sinks that send them.
const Profiles = "profiles"

// A NamedFile is the path of a file, and the option that it was given by.
type NamedFile struct{ Option, Path string }

// List returns the files that are not "", with their options.
func (s *StackFiles) List() (list []NamedFile) {
	for _, f := range []NamedFile{
		{picture.FlameGraph, s.FlameGraph}, {"pprof", s.Pprof},
	} {
		if f.Path != "" {
			list = append(list, f)
		}
	}
	return list
}

// Path returns the value of an option.
func (s *StackFiles) Path(option string) string {
	for _, f := range s.List() {
		if f.Option == option {
			return f.Path
		}
	}
	return ""
}

// Reports returns the reports that the files need: the script's stacks, else
// stacks of the events of its first log, else of its first result.
func (s *StackFiles) Reports(reports []plan.Report) ([]plan.Report, error) {
	files := s.List()
	if s.Profiles {
		files = append(files, NamedFile{Profiles, "profiles"})
	}
	if len(files) == 0 {
		return nil, nil
	}
	spec := stacksOf(reports)
	if !s.Profiles && tellsWhy(reports) {
		return nil, nil // the files get the stacks from that result, see picture.Why
	}
	if spec == nil {
		return nil, diag.Errorf(diag.Usage, "write stacks", files[0].Path,
			"the script reports no events that could have stacks").
			WithHint("use it with a script that shows or counts events, such as profile or trace")
	}
	var list []plan.Report
	for _, f := range files {
		s := *spec
		s.File, s.Top, s.Periods = f.Option, 0, f.Option != picture.FlameGraph
		list = append(list, &s)
	}
	return list, nil
}

// With returns the reports of a script together with the reports for the files and others. With
// noLines, logs are left out if there are such reports, which have the events of the logs.
func (s *StackFiles) With(reports, others []plan.Report, noLines bool) ([]plan.Report, error) {
	files, err := s.Reports(reports)
	if err != nil {
		return nil, err
	}
	files = append(files, others...)
	if len(files) > 0 && noLines {
		reports = slices.DeleteFunc(slices.Clone(reports), func(r plan.Report) bool {
			_, is := r.(*plan.Log)
			return is
		})
	}
	return append(slices.Clip(reports), files...), nil
}

// tellsWhy reports whether the files show the explanation of slow spans: the
// script explains spans and reports no stacks.
func tellsWhy(reports []plan.Report) bool {
	why := false
	for _, r := range reports {
		switch r.(type) {
		case *plan.Stacks:
			return false
		case *plan.Why:
			why = true
		}
	}
	return why
}

func stacksOf(reports []plan.Report) *plan.Stacks {
	for _, r := range reports {
		if s, ok := r.(*plan.Stacks); ok {
			return s
		}
	}
	for _, r := range reports {
		if l, ok := r.(*plan.Log); ok {
			return &plan.Stacks{In: l.In, Stacks: view.Stacks{Title: l.Title}}
		}
	}
	for _, r := range reports {
		switch r.(type) {
		case *plan.Group, *plan.Each:
			return &plan.Stacks{In: r.Input()}
		}
	}
	return nil
}

// TimelineFiles are the files that show events on a time axis; "" is none.
type TimelineFiles struct {
	Perfetto string // for ui.perfetto.dev
	Firefox  string // for profiler.firefox.com
}

// List returns the files that are not "", with their options.
func (f *TimelineFiles) List() (list []NamedFile) {
	for _, one := range []NamedFile{{picture.Perfetto, f.Perfetto}, {picture.Firefox, f.Firefox}} {
		if one.Path != "" {
			list = append(list, one)
		}
	}
	return list
}

// Reports returns the report that the files need, which has the inputs of all
// other reports; none without a file.
func (f *TimelineFiles) Reports(reports []plan.Report) []plan.Report {
	if len(f.List()) == 0 {
		return nil
	}
	t := &plan.Timeline{}
	for _, r := range reports {
		t.In = append(t.In, r.Input())
	}
	return []plan.Report{t}
}
