// Package starfmt lays scripts out in the one style that all have. The printer is
// that of build files; what it does not know of is added here.
package starfmt

import (
	"bytes"
	"errors"
	"fmt"

	"ppscript/runtime/script"
	"ppscript/runtime/text/diag"

	"github.com/bazelbuild/buildtools/build"
)

// Format is src in our style. The rewrites that buildifier knows for build
// files are not for scripts: only the layout changes.
func Format(name string, src []byte) (out []byte, err error) {
	// The formatter's parser is another one, which panics on some texts that
	// are not Starlark.
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
