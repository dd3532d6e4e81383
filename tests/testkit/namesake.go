package testkit

import (
	"slices"
	"strconv"
	"strings"
)

// A Namesake is a script, the tool of another project with the same name, and a command for which
// both print the same rows. tests/oracle runs the namesakes that this machine's kernel can run;
// tests/vm runs in a guest those that need kprobes.
type Namesake struct {
	Script  []string // the script and its options
	Tool    []string // the tool and its options
	Command []string // the observed command; {port} is a port that accepts connections
	// Columns are the columns that must be equal, by the names that both have in their headers;
	// PID is one of them. Only the last one may have blanks in its texts.
	Columns string
	// Path are beginnings of the last column's texts: only rows with one of them are compared.
	// Without any, all are.
	Path []string
	// Alike changes a row of the tool before it is parsed; nil changes nothing. Header has the
	// columns of the changed rows, if they differ from the tool's.
	Alike  func(line string) string
	Header string
}

// Ours returns the rows of the script's text about a process, with these columns, each once and
// sorted.
func (n *Namesake) Ours(text string, pid int) []string { return n.rows(text, pid, nil, "") }

// Theirs returns the same rows from the tool's text.
func (n *Namesake) Theirs(text string, pid int) []string { return n.rows(text, pid, n.Alike, n.Header) }

func (n *Namesake) rows(text string, pid int, alike func(string) string, columns string) []string {
	header := strings.Fields(columns)
	var rows []string
	for line := range strings.Lines(text) {
		if alike != nil {
			line = alike(line)
		}
		fields := strings.Fields(line)
		if slices.Contains(fields, "PID") {
			if columns == "" {
				header = fields
			}
			continue
		}
		if row, ok := n.row(header, fields, pid); ok {
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

// LineBuffered returns the tool's command such that it writes each row at once, also into a pipe or
// a file.
func (n *Namesake) LineBuffered(file string) []string {
	writes := []string{"stdbuf", "-oL"}
	if strings.HasSuffix(file, ".bt") {
		writes = []string{"bpftrace", "-B", "line"}
	}
	return slices.Concat(writes, []string{file}, n.Tool[1:])
}
