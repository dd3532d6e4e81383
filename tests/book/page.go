// Package book tests docs/: ppscript understands its commands, its scripts pass
// check, and the commands of the tutorial print the output that it shows.
package book

import (
	"regexp"
	"strings"

	"ppscript/docs"
)

// A command is a command line of ppscript in a page.
type command struct {
	page, args string
	line       int
}

// A block is indented lines of a page, without their indent.
type block struct {
	lines []string
	first int // number of the first line
}

var (
	inCode = regexp.MustCompile("^    (?:[$#] )?ppscript (?:[^ ]|$)") // a row of a table has more spaces
	before = regexp.MustCompile("^    (?:[$#] )?ppscript ")
	inText = regexp.MustCompile("`ppscript ([^`]*)`")
	remark = regexp.MustCompile(`\s{2,}#.*$`)
)

// commands returns the command lines of a page, in code, sentences and tables.
func commands(name string) []command {
	text, _ := docs.Page(name)
	lines := strings.Split(text, "\n")
	var list []command
	for i := 0; i < len(lines); i++ {
		line, first := lines[i], i+1
		if inCode.MatchString(line) {
			for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
				i++
				line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(lines[i])
			}
			args := remark.ReplaceAllString(before.ReplaceAllString(line, ""), "")
			list = append(list, command{name, strings.TrimSpace(args), first})
			continue
		}
		if strings.HasPrefix(line, "    ") {
			continue
		}
		for _, m := range inText.FindAllStringSubmatch(line, -1) {
			list = append(list, command{name, strings.ReplaceAll(m[1], `\|`, "|"), first})
		}
	}
	return list
}

// blocks returns the indented parts of a page; empty lines inside belong to
// them.
func blocks(name string) []block {
	text, _ := docs.Page(name)
	var list []block
	var b *block
	for i, line := range strings.Split(text, "\n") {
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case indented && b == nil:
			list = append(list, block{[]string{code}, i + 1})
			b = &list[len(list)-1]
		case indented:
			b.lines = append(b.lines, code)
		case line == "" && b != nil:
			b.lines = append(b.lines, "")
		default:
			b = nil
		}
	}
	return list
}

// scripts returns the blocks of a page that are whole scripts: they begin with
// the text that becomes their help.
func scripts(name string) []block {
	var list []block
	for _, b := range blocks(name) {
		text := strings.Join(b.lines, "\n")
		if strings.HasPrefix(text, `"""`) && strings.Contains(text, "def main(") {
			end := len(b.lines)
			for i, line := range b.lines {
				// Output and commands may follow in the same indented part.
				if i > 0 && (strings.HasPrefix(line, "ppscript ") || strings.HasPrefix(line, "$ ")) {
					end = i
					break
				}
			}
			list = append(list, block{b.lines[:end], b.first})
		}
	}
	return list
}
