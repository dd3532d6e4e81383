package expr

import "strings"

// Filters returns a filter as a list, which is empty for an empty filter.
func Filters(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// Conjoin joins filters with &&, in parentheses if there are several.
func Conjoin(filters []string) string {
	switch len(filters) {
	case 0:
		return ""
	case 1:
		return filters[0]
	}
	for i, f := range filters {
		filters[i] = "(" + f + ")"
	}
	return strings.Join(filters, " && ")
}
