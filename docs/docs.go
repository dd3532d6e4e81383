// Package docs has the pages of this directory as texts, for what checks that the
// program does what they say.
package docs

import _ "embed"

// Formats is docs/formats.md: what each kind of record looks like.
//
//go:embed formats.md
var Formats string
