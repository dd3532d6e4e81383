// Package pictures has the drawings of the book: SVG, for light and dark pages.
package pictures

import "embed"

// Files are the drawings.
//
//go:embed *.svg
var Files embed.FS
