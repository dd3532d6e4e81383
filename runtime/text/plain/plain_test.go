package plain

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"testing"
	"unicode/utf8"
)

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b]0;x\a", "\xff\xfe", "é\u202e日本", "a\nb\tc"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Append([]byte("x"), s)
		for _, r := range string(out) {
			if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u202e' {
				t.Errorf("clean %q: got %q, which still has %q", s, out, r)
			}
		}
		if again := Append(nil, string(out)); string(again) != string(out) {
			t.Errorf("clean %q twice: got %q, want %q", s, again, out)
		}
	})
}

func TestText(t *testing.T) {
	f := func(in, line, text string) {
		t.Helper()
		if got := Line(in); got != line {
			t.Errorf("Line(%q): got %q, want %q", in, got, line)
		}
		if got := Text(in, "    "); got != text {
			t.Errorf("Text(%q): got %q, want %q", in, got, text)
		}
	}
	f("", "", "")
	f("a comm", "a comm", "a comm")
	f("é\\n", "é\\n", "é\\n")
	f("x\nppscript: ok", `x\nppscript: ok`, "x\n    ppscript: ok")
	f("\x1b[31ma\tb\r", `\x1b[31ma\tb\r`, "\\x1b[31ma\tb\\r")
	f("\u202eexe", `\u202eexe`, `\u202eexe`)
}

// FuzzExact checks that distinct texts stay distinct, and are UTF-8; usual ones are themselves.
func FuzzExact(f *testing.F) {
	for _, s := range []string{"", "a comm", "\xff", "\xfe", `\xff`, "\ufffd", `\x5cxff`,
		`C:\new`, "\x01", `\x01`, "\xff\\xff"} {
		f.Add(s)
	}
	escape := regexp.MustCompile(`\\x[0-9a-f]{2}`)
	f.Fuzz(func(t *testing.T, s string) {
		got := Exact(s)
		if string(ExactBytes([]byte(s))) != got {
			t.Errorf("%q: got %q of bytes, %q of text", s, ExactBytes([]byte(s)), got)
		}
		back := escape.ReplaceAllStringFunc(got, func(e string) string {
			b, err := hex.DecodeString(e[2:])
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		})
		if !utf8.ValidString(got) || back != s {
			t.Errorf("%q: got %q, which is %q", s, got, back)
		}
		if utf8.ValidString(s) && !escape.MatchString(s) && got != s {
			t.Errorf("%q: got %q, want the same", s, got)
		}
		if again := Valid(Valid(s)); again != Valid(s) || !utf8.ValidString(again) {
			t.Errorf("%q: got %q, then %q", s, Valid(s), again)
		}
	})
}

// A place in a line is the same in what is shown of it.
func TestMasked(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Masked(in); got != want {
			t.Errorf("Masked(%q): got %q, want %q", in, got, want)
		}
	}
	f("a comm", "a comm")
	f("é\tx", "é\tx")
	f("a\n\x1b[31mb\x00\u202e\xff\u009bé", "a??[31mb????é")
}

// The output does not depend on the pieces.
func TestWriter(t *testing.T) {
	const text = "é\x1b[31m日本\tx\n\xff\u202e€\r\n"
	want := string(AppendLines(nil, text))
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := NewWriter(&out)
		for rest := []byte(text); len(rest) > 0; {
			n, err := w.Write(rest[:min(size, len(rest))])
			if err != nil || n == 0 {
				t.Fatal(n, err)
			}
			rest = rest[n:]
		}
		if out.String() != want {
			t.Errorf("pieces of %d: got %q, want %q", size, out.String(), want)
		}
	}
}
