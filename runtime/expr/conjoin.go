package expr

import "strings"

// Filters are a filter that may be empty, as a list.
func Filters(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// Conjoin joins filters with &&, in parentheses where there are several.
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
