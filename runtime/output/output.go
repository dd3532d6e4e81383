// Package output decides which reports a run needs for the files that it writes for other
// tools, beside those of its script. The forms of the files are packages below this one;
// render and picture have those of flame graphs and pprof. Session delivers the reports.
package output

import (
	"slices"

	"ppscript/runtime/output/picture"
	"ppscript/runtime/plan"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/diag"
)

// Stdout as StackFiles.FlameGraph prints folded stacks among the results.
const Stdout = "-"

// StackFiles are the files that the stacks of a run go to; "" is none.
type StackFiles struct {
	// FlameGraph is folded text, or a flame graph if it ends in .svg or .html, or
	// pprof's form (.pb.gz). Stdout prints folded text.
	FlameGraph string
	// FlameBase is a file of folded stacks: FlameGraph, an SVG, then shows which
	// functions grew and shrank since.
	FlameBase string
	Pprof     string // has pprof's form
	// Profiles are the stacks of each interval, for sinks that send them.
	Profiles bool
}

// Profiles, as plan.Stacks.File, are counts for sinks that send them.
const Profiles = "profiles"

// A NamedFile is a file with the option that names it.
type NamedFile struct{ Option, Path string }

// List is the files with the options that name them.
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

// Path is the value of an option.
func (s *StackFiles) Path(option string) string {
	for _, f := range s.List() {
		if f.Option == option {
			return f.Path
		}
	}
	return ""
}

// Reports are the counts that the files need, for what the script
// reports: its stacks, else the events of its first log, else of its first
// result.
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
		return nil, nil // that result has the stacks, which come with its delivery
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

// With is what a script reports together with what the files show, and what others do. Without lines, logs
// are left out if there are files: these have their events.
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

// tellsWhy reports that files show where the time of slow spans went.
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

// TimelineFiles are the files that show along a time axis what happened; "" is none.
type TimelineFiles struct {
	Perfetto string // for ui.perfetto.dev
	Firefox  string // for profiler.firefox.com
}

// List is the files with the options that name them.
func (f *TimelineFiles) List() (list []NamedFile) {
	for _, one := range []NamedFile{{picture.Perfetto, f.Perfetto}, {picture.Firefox, f.Firefox}} {
		if one.Path != "" {
			list = append(list, one)
		}
	}
	return list
}

// Reports is the report that the files need, of what the others are made of; none
// without a file.
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
