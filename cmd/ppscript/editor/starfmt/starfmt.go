// Package starfmt formats scripts in one fixed style, for ppscript fmt and
// editors. It prints with the printer of Bazel build files (buildifier) and
// corrects the layout that this gets wrong for scripts.
package starfmt

import (
	"bytes"
	"errors"
	"fmt"

	"ppscript/runtime/script"
	"ppscript/runtime/text/diag"

	"github.com/bazelbuild/buildtools/build"
)

// Format returns src in this style. Only the layout changes: buildifier's
// rewrites of build files are not applied.
func Format(name string, src []byte) (out []byte, err error) {
	// Checked first, because buildifier's parser panics on some texts that are
	// not Starlark.
	if err := script.WellFormed(name, string(src)); err != nil {
		if diag.HintOf(err) == "" {
			err = (&diag.Error{Cause: err}).WithHint("see what is wrong: ppscript check %s", name)
		}
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = diag.Errorf(diag.Run, "format", name, "BUG: %v", p).
				WithHint("please report it with the script")
		}
	}()
	file, err := build.ParseDefault(name, src)
	var wrong build.ParseError
	if errors.As(err, &wrong) {
		return nil, diag.Errorf(diag.Run, fmt.Sprintf("%s:%d:%d", name, wrong.Pos.Line, wrong.Pos.LineRune),
			"syntax", "%s", wrong.Message).
			WithHint("see what is wrong: ppscript check %s", name)
	}
	if err != nil {
		return nil, (&diag.Error{Op: "format", Subject: name, Cause: err}).WithHint(
			"see what is wrong: ppscript check %s", name)
	}
	if bytes.IndexByte(src, 0) < 0 {
		markLayout(file, src)
	}
	return unmark(build.FormatWithoutRewriting(file)), nil
}
