package fleet

import (
	"encoding/csv"
	"fmt"
	"strings"
	"unicode"
)

// texts is an option with commas between its values, which may be in quotes. That of package pflag leaves out
// everything behind a line end, and says nothing.
type texts []string

// Set adds the values of one occurrence.
func (l *texts) Set(value string) error {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return fmt.Errorf("got %q, which has a line end or another control character", value)
	}
	if value == "" {
		return nil
	}
	more, err := csv.NewReader(strings.NewReader(value)).Read()
	if err != nil {
		return fmt.Errorf("got %q: %w", value, err)
	}
	*l = append(*l, more...)
	return nil
}

// Type is what help calls a value.
func (l *texts) Type() string { return "strings" }

// String is the values with commas between them.
func (l *texts) String() string { return strings.Join(*l, ",") }
