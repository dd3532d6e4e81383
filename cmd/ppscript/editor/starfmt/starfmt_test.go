package starfmt

import "testing"

func TestFormatted(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"the links of a chain stand below its head": {
			"x = (\n  a.by(b)\n      .agg(\n        n = 1,\n    m = 2)\n .top(3)\n)\n",
			"x = (\n    a.by(b)\n    .agg(\n        n = 1,\n        m = 2,\n    )\n    .top(3)\n)\n",
		},
		"a chain that shares the line of its parenthesis": {
			"def f():\n    return (a.by(b)\n        .top(3))\n",
			"def f():\n    return (\n        a.by(b)\n        .top(3)\n    )\n",
		},
		"a chain in a list": {
			"x = [\n    a.by(b)\n        .top(3),\n    c,\n]\n",
			"x = [\n    a.by(b)\n    .top(3),\n    c,\n]\n",
		},
		"a chain behind something else": {
			"x = f(1, a.by(b)\n  .top(3))\n",
			"x = f(1, a.by(b)\n    .top(3))\n",
		},
		"comments in a chain": {
			"x = (\n    a.by(b) # of b\n    .top(3)\n)\n",
			"x = (\n    a.by(b)  # of b\n    .top(3)\n)\n",
		},
		"the rows of a table": {
			"X = {1: \"a\", 2: \"b\",\n     3: [4, 5], 6: (7, 8)}\n",
			"X = {\n    1: \"a\", 2: \"b\",\n    3: [4, 5], 6: (7, 8),\n}\n",
		},
		"the rows of a list": {
			"X = [\n    'a', 'b',\n    'c'\n]\n",
			"X = [\n    \"a\", \"b\",\n    \"c\",\n]\n",
		},
		"a table of one element a line": {
			"X = [\n    1,\n    2]\n",
			"X = [\n    1,\n    2,\n]\n",
		},
		"an element with a comment has its own line": {
			"X = [\n    1, 2, # two\n    # three\n    3]\n",
			"X = [\n    1,\n    2,  # two\n    # three\n    3,\n]\n",
		},
		"arguments are not rows": {
			"f(a, b,\n  c)\n",
			"f(\n    a,\n    b,\n    c,\n)\n",
		},
		"no blank line before a comment": {
			"def f():\n    a()\n    # Why.\n    b()\n\n    # Apart.\n    c()\n",
			"def f():\n    a()\n    # Why.\n    b()\n\n    # Apart.\n    c()\n",
		},
		"functions are apart": {
			"x = 1\n# What f does.\ndef f():\n    pass\n",
			"x = 1\n\n# What f does.\ndef f():\n    pass\n",
		},
	} {
		got, err := Format("x.star", []byte(c.src))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", name, err, got, c.want)
			continue
		}
		if again, err := Format("x.star", got); err != nil || string(again) != c.want {
			t.Errorf("%s, again: got %v\n%s\nwant\n%s", name, err, again, c.want)
		}
	}
}
