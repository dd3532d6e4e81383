package relay

import (
	"slices"
	"strings"
)

// Addresses returns the addresses that the values of an attribute name, with commas, each once.
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
