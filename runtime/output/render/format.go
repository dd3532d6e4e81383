package render

import "slices"

// A format is an output format of results. formatList defines the values of
// --format and the extensions of result files.
type format struct {
	name string
	ext  string // extension of files
	// make makes the Renderer; the options in o are checked, and have their
	// defaults.
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

// Extensions lists the file extensions of the formats.
func Extensions() []string { return names(func(f format) string { return f.ext }) }

func names(of func(format) string) []string {
	var list []string
	for _, f := range formatList {
		list = append(list, of(f))
	}
	return list
}

// FormatOf returns the format for a file extension; false if there is none.
func FormatOf(ext string) (name string, ok bool) {
	i := slices.IndexFunc(formatList, func(f format) bool { return f.ext == ext })
	if i < 0 {
		return "", false
	}
	return formatList[i].name, true
}

// Times lists the values of --time, the default first.
func Times() []string { return slices.Clone(times) }
