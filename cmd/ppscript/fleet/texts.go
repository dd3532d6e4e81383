package fleet

import (
	"encoding/csv"
	"fmt"
	"strings"
	"unicode"
)

// texts is an option with a list of values between commas, which may be quoted. pflag's own type
// silently drops everything after a line end.
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

// Type is the name of the value in help.
func (l *texts) Type() string { return "strings" }

// String returns the values joined by commas.
func (l *texts) String() string { return strings.Join(*l, ",") }
