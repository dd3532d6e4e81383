package testkit

import (
	"slices"
	"strconv"
	"strings"
)

// A Namesake is a script, the tool of another project that has its name, and a command of which both
// tell the same rows. tests/oracle runs those that this machine's kernel can run, tests/vm in a guest
// those that need kprobes.
type Namesake struct {
	Script  []string // the script and its options
	Tool    []string // the tool and its options
	Command []string // what both tell of; {port} is a port that accepts connections
	// Columns are those that are equal, by the names that both have in their headers, PID among
	// them; only the last one may have blanks in its texts.
	Columns string
	// Path is the begin of the texts of the last column that are compared, one of these; all if none.
	Path []string
	// Alike changes a row of the tool before it is read; nil leaves it. Header names the columns of
	// what it makes, if they are other ones than the tool's.
	Alike  func(line string) string
	Header string
}

// Ours are the rows of the script's text that are about a process, of these columns, each once and
// sorted.
func (n *Namesake) Ours(text string, pid int) []string { return n.rows(text, pid, nil, "") }

// Theirs are those of the tool's text.
func (n *Namesake) Theirs(text string, pid int) []string { return n.rows(text, pid, n.Alike, n.Header) }

func (n *Namesake) rows(text string, pid int, alike func(string) string, columns string) []string {
	var rows, header []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); slices.Contains(f, "PID") {
			if header = f; columns != "" {
				header = strings.Fields(columns)
			}
			continue
		}
		if alike != nil {
			line = alike(line)
		}
		if row, ok := n.row(header, strings.Fields(line), pid); ok {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

func (n *Namesake) row(header, fields []string, pid int) (row string, ok bool) {
	at := slices.Index(header, "PID")
	if at < 0 || len(fields) < len(header) || fields[at] != strconv.Itoa(pid) {
		return "", false
	}
	var cells []string
	for name := range strings.FieldsSeq(n.Columns) {
		i := slices.Index(header, name)
		switch {
		case i < 0:
			return "no column " + name, true
		case i == len(header)-1:
			cells = append(cells, strings.Join(fields[i:], " "))
		default:
			cells = append(cells, fields[i])
		}
	}
	last := cells[len(cells)-1]
	begins := func(with string) bool { return strings.HasPrefix(last, with) }
	return strings.Join(cells, " "), len(n.Path) == 0 || slices.ContainsFunc(n.Path, begins)
}

// LineBuffered is the command of the tool, a file, that writes each row at once into a pipe or a file.
func (n *Namesake) LineBuffered(file string) []string {
	writes := []string{"stdbuf", "-oL"}
	if strings.HasSuffix(file, ".bt") {
		writes = []string{"bpftrace", "-B", "line"}
	}
	return slices.Concat(writes, []string{file}, n.Tool[1:])
}
