package help

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/docs"
)

// This file shows the pages of docs/.

// Topic returns the page with a name, laid out for the console's output; name
// "" is the list of pages.
func Topic(c *console.Console, name string) (text string, ok bool) {
	page, ok := docs.Page(name)
	if !ok {
		return "", false
	}
	s := sheet{console: c, layout: c.Layout(false)}
	for _, block := range strings.Split(strings.TrimSpace(page), "\n\n") {
		s.block(strings.Split(block, "\n"))
	}
	return s.out.String(), true
}

// A sheet collects the output while a page is laid out.
type sheet struct {
	console *console.Console
	layout  console.Layout
	out     strings.Builder
}

// link matches a Markdown link; only its words are shown.
var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// block writes the lines of a paragraph, list, table or code block, and an
// empty line.
func (s *sheet) block(lines []string) {
	first := lines[0]
	switch {
	case strings.HasPrefix(first, "!["): // a picture; the text below describes it
		return
	case strings.HasPrefix(first, "#"):
		s.out.WriteString(s.console.Title(prose(strings.TrimLeft(first, "# "))) + "\n")
		if len(lines) > 1 {
			s.block(lines[1:])
			return
		}
	case strings.HasPrefix(first, "    "):
		s.out.WriteString(s.layout.Text(strings.Join(lines, "\n")))
	case strings.HasPrefix(first, "|"):
		s.table(lines)
	case strings.HasPrefix(first, "- "):
		s.list(lines)
	default:
		s.out.WriteString(s.layout.Text(prose(strings.Join(lines, "\n"))))
	}
	s.out.WriteString("\n")
}

// list writes a list; an item may have several lines.
func (s *sheet) list(lines []string) {
	var items []string
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, "- "); ok {
			items = append(items, text)
		} else {
			items[len(items)-1] += " " + strings.TrimSpace(line)
		}
	}
	for _, item := range items {
		console.TwoColumns(&s.out, " -", prose(item), 4, s.layout.Width)
	}
}

// table writes a table in two columns. Further columns are appended to the
// second, after a semicolon.
func (s *sheet) table(lines []string) {
	var rows [][]string
	column := 0
	for i, line := range lines {
		cells := split(line)
		if i == 1 { // the line of dashes
			continue
		}
		rows = append(rows, cells)
		column = max(column, utf8.RuneCountInString(cells[0])+3)
	}
	for i, cells := range rows {
		if i == 0 && !slices.ContainsFunc(cells, func(cell string) bool { return cell != "" }) {
			continue
		}
		rest := slices.DeleteFunc(cells[1:], func(cell string) bool { return cell == "" })
		console.TwoColumns(&s.out, cells[0], strings.Join(rest, "; "), column, s.layout.Width)
	}
}

// split returns the cells of a row.
func split(row string) []string {
	const bar = "\x00"
	row = strings.ReplaceAll(strings.Trim(row, "| "), `\|`, bar)
	cells := strings.Split(row, "|")
	for i, cell := range cells {
		cells[i] = prose(strings.ReplaceAll(strings.TrimSpace(cell), bar, "|"))
	}
	return cells
}

// prose removes Markdown marks from a text.
func prose(text string) string {
	text = link.ReplaceAllString(text, "$1")
	return strings.ReplaceAll(strings.ReplaceAll(text, "**", ""), "`", "")
}
