// Package guide checks that the command lines of perf-prof's guide work with
// ppscript for perf-prof. commands.txt lists them with the expected result of
// each. A command that does not work yet is marked there, and the test fails as
// soon as it works.
package guide

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// A command is one line of the list with its directives.
type command struct {
	line   int
	args   string // in the shell's syntax
	checks []check
	exit   int
	guest  bool
	needs  string // needed features of the hardware
	notYet string // the reason why the command does not work yet
}

// A check is a condition on the output.
type check struct {
	kind  string // has, not, lines, least, file
	count int
	words []string
}

func (k check) String() string {
	s := k.kind
	if k.kind == "lines" || k.kind == "least" {
		s += " " + strconv.Itoa(k.count)
	}
	return s + " " + strings.Join(k.words, " ")
}

// readCommands reads the list. A directive is indented.
func readCommands(path string) ([]*command, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []*command
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		line := in.Text()
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, "  "):
			list = append(list, &command{line: n, args: line})
		case len(list) == 0:
			return nil, fmt.Errorf("%s:%d: a directive without a command", path, n)
		default:
			if err := list[len(list)-1].directive(strings.TrimSpace(line)); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, n, err)
			}
		}
	}
	return list, in.Err()
}

func (c *command) directive(text string) (err error) {
	word, rest, _ := strings.Cut(text, " ")
	k := check{kind: word, words: strings.Fields(rest)}
	switch word {
	case "has":
	case "file":
	case "lines", "least":
		if len(k.words) < 2 {
			return fmt.Errorf("%s needs a number and words", word)
		}
		if k.count, err = strconv.Atoi(k.words[0]); err != nil {
			return err
		}
		k.words = k.words[1:]
	case "exit":
		c.exit, err = strconv.Atoi(rest)
		return err
	case "in":
		c.guest = rest == "guest"
		return nil
	case "needs":
		c.needs = rest
		return nil
	case "not":
		if why, ok := strings.CutPrefix(rest, "yet "); ok {
			c.notYet = why
			return nil
		}
	default:
		return fmt.Errorf("unknown directive %s", word)
	}
	if len(k.words) == 0 {
		return fmt.Errorf("%s needs words", word)
	}
	c.checks = append(c.checks, k)
	return nil
}

// failure returns the reason why output does not meet the check; "" if it does.
// dir is the directory of the files that checks name.
func (k check) failure(output, dir string) string {
	if k.kind == "file" {
		if st, err := os.Stat(dir + "/" + k.words[0]); err != nil || st.Size() == 0 {
			return "no such file, or nothing in it"
		}
		return ""
	}
	n := 0
	for line := range strings.Lines(output) {
		if inOrder(line, k.words) {
			n++
		}
	}
	switch {
	case k.kind == "has" && n == 0, k.kind == "not" && n > 0, k.kind == "lines" && n != k.count,
		k.kind == "least" && n < k.count:
		return fmt.Sprintf("got %d lines", n)
	}
	return ""
}

// inOrder reports whether the words follow each other in line; a word that
// begins with ~ is a regular expression.
func inOrder(line string, words []string) bool {
	for _, w := range words {
		pattern, ok := strings.CutPrefix(w, "~")
		if !ok {
			pattern = regexp.QuoteMeta(w)
		}
		at := regexp.MustCompile(pattern).FindStringIndex(line)
		if at == nil {
			return false
		}
		line = line[at[1]:]
	}
	return true
}

// bounded returns the command line with an end: a command that does not end by
// itself gets a duration.
func (c *command) bounded() string {
	name, rest, _ := strings.Cut(c.args, " ")
	switch {
	case strings.HasPrefix(name, "-"), name == "usdt", name == "kcore", strings.HasSuffix(c.args, " -h"),
		strings.HasSuffix(c.args, " help"), strings.Contains(c.args, " -- "):
		return c.args
	case strings.Contains(c.args, " -N "):
		return name + " --duration 15s " + rest
	}
	return name + " --duration 700ms " + rest
}
