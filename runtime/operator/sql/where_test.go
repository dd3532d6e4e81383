package sql

import (
	"fmt"
	"strings"
	"testing"
)

func TestTerms(t *testing.T) {
	f := func(query, want string) {
		t.Helper()
		var got []string
		for _, x := range Terms(query, "wakeup") {
			if x.IsText {
				got = append(got, fmt.Sprintf("%s %s %q", x.Column, x.Op, x.Text))
			} else {
				got = append(got, fmt.Sprintf("%s %s %d", x.Column, x.Op, x.Int))
			}
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s: got %s, want %s", query, text, want)
		}
	}
	f("SELECT * FROM wakeup WHERE pid > 1000", "pid > 1000")
	f("select comm, count(*) from Wakeup where pid<>-1 and comm glob 'kw*' and \"prio\" = 120 group by comm having count(*) > 5 order by 2;", `pid != -1, comm ~ "kw*", prio == 120`)
	f("SELECT 1 FROM wakeup WHERE pid = 1 AND NOT prio = 2 AND prio + 1 > 3 AND (a = 1 AND b = 2) AND comm != 'x' LIMIT 3", `pid == 1, comm != "x"`)
	f("SELECT 1 FROM wakeup WHERE pid IN (1, 2) AND prio < 1.5 AND comm > 'a' AND 3 = pid AND pid & 3 = 1", "")
	for _, doubtful := range []string{
		"SELECT 1 FROM wakeup WHERE pid = 1 OR pid = 2",
		"SELECT 1 FROM wakeup WHERE pid BETWEEN 1 AND 5 AND prio = 3",
		"SELECT 1 FROM wakeup w WHERE pid = 1",
		"SELECT 1 FROM wakeup, other WHERE pid = 1",
		"SELECT 1 FROM wakeup JOIN other WHERE pid = 1",
		"SELECT 1 FROM other WHERE pid = 1",
		"SELECT (SELECT 1) FROM wakeup WHERE pid = 1",
		"SELECT 1 FROM wakeup WHERE pid = 1 UNION SELECT 2 FROM wakeup",
		"SELECT 1 FROM wakeup WHERE pid = 1; SELECT 2 FROM wakeup",
		"SELECT 1 FROM wakeup WHERE pid = 1 -- AND x = 2",
		"SELECT 1 FROM wakeup WHERE CASE WHEN pid = 1 THEN 1 AND prio = 2 END",
		"SELECT 1 FROM wakeup WHERE comm = 'it''s'",
		"SELECT 1 FROM wakeup WHERE comm = 'A' COLLATE NOCASE",
		"SELECT 1 FROM wakeup", "DELETE FROM wakeup WHERE pid = 1", "",
	} {
		f(doubtful, "")
	}
}
