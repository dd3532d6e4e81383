package render

import "slices"

// A format is a form of results: --format and the names of result files follow
// from this list.
type format struct {
	name string
	ext  string // of files
	// make makes its Renderer; o is complete.
	make func(out *sink, line lineOptions, o *Options) Renderer
}

// formatList has the default first.
var formatList = []format{
	{"text", ".txt", func(out *sink, line lineOptions, o *Options) Renderer {
		return &textRenderer{
			sink:     out,
			line:     line,
			width:    o.Width,
			terminal: o.Terminal,
			color:    colored(out.w, o.Color),
		}
	}},
	{"json", ".json", func(out *sink, line lineOptions, o *Options) Renderer {
		return &jsonRenderer{sink: out, line: line, page: o.Page}
	}},
	{"csv", ".csv", func(out *sink, line lineOptions, _ *Options) Renderer {
		return &csvRenderer{sink: out, line: line}
	}},
	{"markdown", ".md", func(out *sink, line lineOptions, o *Options) Renderer {
		return newMarkdown(out, line, o.Width)
	}},
}

// Formats lists the names of the formats, the default first.
func Formats() []string { return names(func(f format) string { return f.name }) }

// Extensions lists the ends of files' names that say a format.
func Extensions() []string { return names(func(f format) string { return f.ext }) }

func names(of func(format) string) []string {
	var list []string
	for _, f := range formatList {
		list = append(list, of(f))
	}
	return list
}

// FormatOf is the format that the end of a file's name asks for; false if it
// asks for none.
func FormatOf(ext string) (name string, ok bool) {
	i := slices.IndexFunc(formatList, func(f format) bool { return f.ext == ext })
	if i < 0 {
		return "", false
	}
	return formatList[i].name, true
}

// Times lists the ways in which times are written, the default first.
func Times() []string { return slices.Clone(times) }
