// Package library keeps script libraries: directories with a ppscript.mod, in
// the syntax of go.mod, which name the other libraries that they need, and in
// which versions.
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
// The files of a library are not trusted before they were compared with
// ppscript.sum: all files of the directory that runs are hashed, and the scripts
// run as they were hashed. From git only regular files are read, out of its
// objects; sizes and times have bounds. A run adds no line to ppscript.sum,
// unless Settings.Pin says that somebody sees it; versions that the user names
// outside of a library are pinned in a ppscript.sum of the user's.
//
// Libraries may also be directories of the user's: by replace lines, or in a
// workspace (ppscript.work).
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
