// Package library keeps script libraries: directories with a ppscript.mod, in
// the syntax of go.mod, which name what other libraries they need and in which
// versions.
//
//	module git.example.com/perf/disk
//	require git.example.com/perf/base v1.2.0
//
// Versions are semver tags, chosen by minimal version selection: of each
// library the highest version that anybody asks for, never a higher one. They
// come through the module-proxy protocol (file://, https://) or straight from
// git, are kept read-only in the user's cache, and are pinned by hash in
// ppscript.sum. With everything in the cache or in vendor/ no network is used.
//
// Package script loads through Resolve; cmd/ppscript has the mod commands. The
// package runs no script.
package library

// Names of the files of a library.
const (
	ModName    = "ppscript.mod"
	SumName    = "ppscript.sum"
	vendorDir  = "vendor"
	vendorList = "vendor/modules.txt"
)
