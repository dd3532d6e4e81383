// Package library manages libraries of scripts: directories with a
// ppscript.mod, in the syntax of go.mod, which lists the other libraries that
// they need and their versions.
//
//	module git.example.com/perf/disk
//	require git.example.com/perf/base v1.2.0
//
// Versions are semver tags, chosen by minimal version selection: of each
// library, the highest version that is required anywhere, and never a higher
// one. They are fetched by Go's module proxy protocol (file://, https://) or
// directly from git, stored read-only in the user's cache, and pinned by hash
// in ppscript.sum. If everything is in the cache or in vendor/, no network is
// used.
//
// The files of a library are not trusted until they were compared with
// ppscript.sum: all files of its directory are hashed, and the scripts that run
// are the hashed bytes. From git only regular files are read, from its objects;
// sizes and times are bounded. A run adds no line to ppscript.sum, unless
// Settings.Pin is set; versions that the user names outside of a library are
// pinned in the user's own ppscript.sum.
//
// A library may also be a local directory of the user, by a replace line or in
// a workspace (ppscript.work).
//
// Package script finds files with Resolve; cmd/ppscript has the mod commands.
// This package runs no scripts.
package library

// Names of the files of a library.
const (
	ModName    = "ppscript.mod"
	SumName    = "ppscript.sum"
	vendorDir  = "vendor"
	vendorList = "vendor/modules.txt"
)
