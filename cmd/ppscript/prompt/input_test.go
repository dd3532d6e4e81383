package prompt

import "testing"

func TestIndentation(t *testing.T) {
	f := func(before, want string) {
		t.Helper()
		if got := Indentation(before); got != want {
			t.Errorf("%q: got %q, want %q", before, got, want)
		}
	}
	f("", "")
	f("def f(e):\n", "    ")
	f("def f(e):\n    if e:\n", "        ")
	f("def f(e):\n    if e:\n        return 1\n", "    ")
	f("def f(e):\n    x = 1\n", "    ")
	f("x = join(\n", "    ")
	f("x = join(\n    [a,\n", "        ")
	f("x = join(\n    [a],\n", "    ")
	f("x = \"\"\"a\n", "")
}

func TestHelpCall(t *testing.T) {
	f := func(statement, want string) {
		t.Helper()
		if got := HelpCall(statement); got != want {
			t.Errorf("%q: got %q, want %q", statement, got, want)
		}
	}
	f("?\n", "help()\n")
	f("help\n", "help()\n")
	f("help stream.by\n", "help(\"stream.by\")\n")
	f("?join\n", "help(\"join\")\n")
	f("join?\n", "help(\"join\")\n")
	f("help(join)\n", "help(join)\n")
	f("x = 1\n", "x = 1\n")
	f("helper\n", "helper\n")
}
