// Package docs has the pages of this directory as texts, for the tests that
// compare them with the program.
package docs

import _ "embed"

// Formats is docs/formats.md: the form of each kind of record.
//
//go:embed formats.md
var Formats string

// KernelData is docs/kernel-data.md: how expressions read the kernel's memory.
//
//go:embed kernel-data.md
var KernelData string

// Schema is docs/schema.json: Formats as a JSON Schema.
//
//go:generate go run ./gen
//go:embed schema.json
var Schema []byte
