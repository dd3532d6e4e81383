package sealed

import "testing"

// The file of root's rules is read, or refused with the line: nobody is allowed by a line that is refused.
func FuzzRules(f *testing.F) {
	f.Add("alice syscalls --than=1ms..1s --pids=*\n%wheel /srv/x.star sha256=ab --*\n# x\n")
	f.Add("ALL ALL\n\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("rules", text, func(name string) string { return "/stdlib/" + name })
		if err != nil {
			if p != nil {
				t.Errorf("%q: got rules with the error %v", text, err)
			}
			return
		}
		for _, r := range p.For(User{Name: "alice", ID: 1000}, "syscalls") {
			_ = r.String()
		}
	})
}
