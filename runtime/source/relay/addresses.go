package relay

import (
	"slices"
	"strings"
)

// Addresses splits the values of an attribute at commas, and returns each address once.
func Addresses(values []string) (list []string) {
	for _, value := range values {
		for a := range strings.SplitSeq(value, ",") {
			if a = strings.TrimSpace(a); !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}
