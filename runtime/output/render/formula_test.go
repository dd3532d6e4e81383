package render

import "testing"

// TestFormulasAreText checks that numbers stay numbers; a text that a spreadsheet would compute
// stays text.
func TestFormulasAreText(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := string(appendCSV(nil, in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	f("bash", "bash")
	f("-", "-")
	f("-17", "-17")
	f("+1.5e9", "+1.5e9")
	f("-0.25", "-0.25")
	f("=1+2", "'=1+2")
	f("=cmd|'/c calc'!A1", "'=cmd|'/c calc'!A1")
	f(`=HYPERLINK("http://x","y")`, `"'=HYPERLINK(""http://x"",""y"")"`)
	f("@SUM(A1)", "'@SUM(A1)")
	f("-1+1", "'-1+1")
	f("+name", "'+name")
	f("\t=1", `\t=1`)
	f("\r=1", `\r=1`)
	f("a=1", "a=1")
}
