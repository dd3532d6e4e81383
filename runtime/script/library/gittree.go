package library

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	modzip "golang.org/x/mod/zip"
)

// git fetches libraries directly from their repositories. A version is a tag.
// The path of a library is the address of a repository, or of a directory in
// it, whose tags then begin with the directory: sub/dir/v1.2.0. A repository is
// cloned once in each run, without a checkout: files are read from git's
// objects, where a symbolic link is seen as a link. The user can configure the
// true address of a repository in git itself: url.X.insteadOf.
type git struct {
	scratch *scratch
	roots   map[string]repository // by the path of a library
	clones  map[module.Version]string
}

// gitRef is the name of a fetched version in its clone.
const gitRef = "refs/ppscript/version"

// A repository is the location of a library.
type repository struct {
	root string // host/path
	sub  string // the library's directory in it, with slashes; "" for its root
	tags []string
}

// tag returns the tag of a library's version.
func (r *repository) tag(version string) string {
	if r.sub == "" {
		return version
	}
	return r.sub + "/" + version
}

func newGit(s *scratch) *git {
	return &git{scratch: s, roots: map[string]repository{}, clones: map[module.Version]string{}}
}

// address is the URL of the repository for a path.
func address(path string) string { return "https://" + strings.TrimSuffix(path, "/") }

// places lists the repositories that may contain a library, the likeliest
// first.
func places(libPath string) []repository {
	libPath, _, _ = module.SplitPathVersion(libPath)
	parts := strings.Split(libPath, "/")
	least := 2 // host and repository
	switch parts[0] {
	case "github.com", "bitbucket.org":
		least = 3
	}
	for i, p := range parts {
		if i > 0 && strings.HasSuffix(p, ".git") {
			return []repository{{root: strings.Join(parts[:i+1], "/"), sub: strings.Join(parts[i+1:], "/")}}
		}
	}
	var list []repository
	for n := len(parts); n >= min(least, len(parts)); n-- {
		list = append(list, repository{root: strings.Join(parts[:n], "/"), sub: strings.Join(parts[n:], "/")})
	}
	if least == 3 && len(list) > 1 {
		return list[len(list)-1:] // on these hosts, paths of repositories have no more parts
	}
	return list
}

// find finds the repository of a library, with its tags.
func (g *git) find(ctx context.Context, libPath string) (*repository, error) {
	if r, ok := g.roots[libPath]; ok {
		return &r, nil
	}
	scratch, err := g.scratch.path()
	if err != nil {
		return nil, err
	}
	for _, r := range places(libPath) {
		out, e := g.run(ctx, scratch, "", nil, "ls-remote", "--tags", "--refs", "--", address(r.root))
		if e != nil {
			if err == nil {
				err = e // the error for the likeliest repository
			}
			if !errors.Is(e, errNoRepository) {
				break
			}
			continue
		}
		for _, line := range strings.Split(string(out), "\n") {
			if _, tag, ok := strings.Cut(line, "refs/tags/"); ok {
				r.tags = append(r.tags, tag)
			}
		}
		g.roots[libPath] = r
		return &r, nil
	}
	return nil, err
}

func (g *git) versions(ctx context.Context, libPath string) ([]string, error) {
	r, err := g.find(ctx, libPath)
	if err != nil {
		return nil, err
	}
	_, major, _ := module.SplitPathVersion(libPath)
	var vs []string
	for _, tag := range r.tags {
		v, ok := strings.CutPrefix(tag, r.tag(""))
		if ok && semver.IsValid(v) && semver.Canonical(v) == v && module.CheckPathMajor(v, major) == nil {
			vs = append(vs, v)
		}
	}
	return vs, nil
}

// clone fetches a version without its history, or returns an earlier clone. Only
// a tag is a version: a branch with the same name is not fetched.
func (g *git) clone(ctx context.Context, v module.Version) (dir string, r *repository, err error) {
	if r, err = g.find(ctx, v.Path); err != nil {
		return "", nil, err
	}
	if dir := g.clones[v]; dir != "" {
		return dir, r, nil
	}
	if !slices.Contains(r.tags, r.tag(v.Version)) {
		return "", nil, errAbsent
	}
	scratch, err := g.scratch.path()
	if err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(scratch, "git-"); err != nil {
		return "", nil, err
	}
	if _, err := g.run(ctx, dir, "", nil, "init", "--quiet", "--bare", "--template="); err != nil {
		return "", nil, err
	}
	_, err = g.run(ctx, dir, dir, nil, "fetch", "--quiet", "--depth", "1", "--no-tags",
		"--no-recurse-submodules", "--",
		address(r.root), "refs/tags/"+r.tag(v.Version)+":"+gitRef)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	g.clones[v] = dir
	return dir, r, nil
}

// An entry is a file of a commit.
type entry struct {
	mode, object string
	size         int64
	path         string // relative to the library's directory
}

// regular reports that it is a file, not a link or another repository.
func (e *entry) regular() bool { return e.mode == "100644" || e.mode == "100755" }

// entries lists the files of a library.
func (g *git) entries(ctx context.Context, dir, sub string) ([]entry, error) {
	args := []string{"ls-tree", "-r", "-z", "--long", "--full-tree", gitRef}
	if sub != "" {
		args = append(args, "--", sub+"/")
	}
	out, err := g.run(ctx, dir, "", nil, args...)
	if err != nil {
		return nil, err
	}
	var list []entry
	others := map[string]bool{} // directories of other libraries in the repository
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		about, name, ok := strings.Cut(line, "\t")
		f := strings.Fields(about) // mode, type, object, size
		if !ok || len(f) != 4 {
			continue
		}
		e := entry{mode: f[0], object: f[2]}
		e.size, _ = strconv.ParseInt(f[3], 10, 64) // "-" of other repositories
		e.path = strings.TrimPrefix(strings.TrimPrefix(name, sub), "/")
		if d := path.Dir(e.path); path.Base(e.path) == ModName && d != "." && e.regular() {
			others[d] = true
		}
		list = append(list, e)
	}
	var own []entry
	for _, e := range list {
		if !below(e.path, others) {
			own = append(own, e)
		}
	}
	return own, nil
}

// below reports that a file is in one of the directories.
func below(name string, dirs map[string]bool) bool {
	for d := path.Dir(name); d != "."; d = path.Dir(d) {
		if dirs[d] {
			return true
		}
	}
	return false
}

func (g *git) mod(ctx context.Context, v module.Version) ([]byte, error) {
	dir, r, err := g.clone(ctx, v)
	if err != nil {
		return nil, err
	}
	list, err := g.entries(ctx, dir, r.sub)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		switch {
		case e.path != ModName:
		case !e.regular():
			return nil, fmt.Errorf("its %s is %w", ModName, errIrregular)
		case e.size > maxMod:
			return nil, fmt.Errorf("its %s is larger than %d bytes", ModName, maxMod)
		default:
			return g.run(ctx, dir, "", nil, "cat-file", "blob", e.object)
		}
	}
	return nil, fmt.Errorf("the repository has no %s", path.Join(r.sub, ModName))
}

func (g *git) zip(ctx context.Context, v module.Version, w io.Writer) error {
	dir, r, err := g.clone(ctx, v)
	if err != nil {
		return err
	}
	list, err := g.entries(ctx, dir, r.sub)
	if err != nil {
		return err
	}
	var wanted bytes.Buffer
	var regular []entry
	sum := int64(0)
	for _, e := range list {
		if !e.regular() {
			continue
		}
		if sum += e.size; sum > maxZip || len(regular) >= maxFiles {
			return fmt.Errorf("the library has more than %d MiB or %d files", maxZip>>20, maxFiles)
		}
		regular = append(regular, e)
		wanted.WriteString(e.object + "\n")
	}
	out, err := g.run(ctx, dir, "", wanted.Bytes(), "cat-file", "--batch")
	if err != nil {
		return err
	}
	files, err := blobs(out, regular)
	if err != nil {
		return err
	}
	return modzip.Create(w, v, files)
}

// blobs parses the output of cat-file --batch: for each object a line that ends
// in its size, its bytes, and a line end.
func blobs(out []byte, list []entry) ([]modzip.File, error) {
	var files []modzip.File
	for _, e := range list {
		head, rest, ok := bytes.Cut(out, []byte("\n"))
		if !ok || int64(len(rest)) < e.size+1 || !bytes.HasPrefix(head, []byte(e.object)) {
			return nil, fmt.Errorf("%s: git has no such object", filepath.FromSlash(e.path))
		}
		files = append(files, &blob{e, rest[:e.size]})
		out = rest[e.size+1:]
	}
	return files, nil
}

// A blob is a file of a commit in the form that package zip needs, with an
// Lstat.
type blob struct {
	entry
	data []byte
}

func (b *blob) Path() string                 { return b.path }
func (b *blob) Lstat() (fs.FileInfo, error)  { return b, nil }
func (b *blob) Open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.data)), nil }

func (b *blob) Name() string       { return path.Base(b.path) }
func (b *blob) Size() int64        { return int64(len(b.data)) }
func (b *blob) Mode() fs.FileMode  { return 0o644 }
func (b *blob) ModTime() time.Time { return time.Time{} }
func (b *blob) IsDir() bool        { return false }
func (b *blob) Sys() any           { return nil }
