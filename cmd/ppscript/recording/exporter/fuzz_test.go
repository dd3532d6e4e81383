package exporter

import "testing"

func FuzzParse(f *testing.F) {
	f.Add("calls: syscalls -p 4711\n# comment\nb: top -e 'a b'\n")
	f.Add("x:")
	f.Add(": y\nx: 'z")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := Parse(text)
		if (err == nil) != (len(jobs) > 0) {
			t.Fatalf("got %d scripts and %v", len(jobs), err)
		}
		for _, j := range jobs {
			if j.Name == "" || !word(j.Name) || len(j.Words) == 0 || j.Line < 1 {
				t.Errorf("got %+v", j)
			}
		}
	})
}
