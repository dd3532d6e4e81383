package layout

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// This file checks the words of comments. A question word is no noun: a comment names the thread, the user
// or the caller in its place. A participle with an article names nothing: a comment says which thing was kept
// or shown.

// A wordRule is a form of words that comments avoid.
type wordRule struct {
	form *regexp.Regexp
	want string
}

// wordRules match the text of one comment, without its marks: lines that follow each other are one text.
var wordRules = []wordRule{
	{regexp.MustCompile(`^who \w+|\b(of|for|by|from|to|than|but|with) who\b`),
		"the noun: the thread, the user, the caller"},
	{regexp.MustCompile(`(?i)\bwhoever\b`), "the noun: the user who, the caller that"},
	{regexp.MustCompile(`\b([Tt]hose|[Tt]hat) of what\b`), "the noun of the thing"},
	{regexp.MustCompile(`^(An?|The) (told|made|left|kept|held|asked|given|sent|shown|said|seen|taken|wanted|` +
		`known|allowed|around) (is|are|has|says|lists|tells|describes)\b`), "a noun for the type"},
}

// words finds forms of words in comments that have to be read twice.
func (c *checker) words(fset *token.FileSet, file *ast.File) {
	for _, group := range file.Comments {
		text := strings.TrimSpace(strings.ReplaceAll(group.Text(), "\n", " "))
		for _, rule := range wordRules {
			if got := rule.form.FindString(text); got != "" {
				c.fault("%s: got the words %q in a comment, want %s",
					fset.Position(group.Pos()), got, rule.want)
			}
		}
	}
}
