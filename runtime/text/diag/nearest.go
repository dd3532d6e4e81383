package diag

import "strings"

// Nearest returns the candidate that a user most likely meant by name, or ""
// if none is close. Case and the choice of '-' or '_' do not count.
func Nearest(name string, candidates []string) string {
	// Short names allow one edit, longer ones more: with two edits in three
	// letters, "nix" would match "pid". One letter allows none.
	best, bestCost := "", max(len(name)/3+1, min(len(name), 2))
	want := fold(name)
	for _, c := range candidates {
		if cost := distance(want, fold(c), bestCost); cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best
}

// DidYouMean is " (did you mean X?)", or "" if no candidate is close.
func DidYouMean(name string, candidates []string) string {
	if n := Nearest(name, candidates); n != "" {
		return " (did you mean " + n + "?)"
	}
	return ""
}

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// distance is the edit distance of a and b with transpositions, or at least
// limit if it is not smaller.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least >= limit {
			return limit
		}
		prev2, prev, row = prev, row, prev2
	}
	return min(prev[len(b)], limit)
}
