package library

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	modzip "golang.org/x/mod/zip"
)

// git gets libraries straight from their repositories: the path is the
// address, a tag is a version. A repository is cloned once for each run, into
// scratch. Where it really is can be told to git itself: url.X.insteadOf.
type git struct{ scratch string }

// gitTime bounds one git command.
const gitTime = 2 * time.Minute

func (g *git) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	// Asking for a password would hang where nobody is there to answer.
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, errors.New("git is not installed")
		}
		line, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return nil, fmt.Errorf("git %s: %s", args[0], line)
	}
	return out.Bytes(), nil
}

// address is where the repository of a path is. The path must name the
// repository: libraries below its root are not supported.
func address(path string) string { return "https://" + strings.TrimSuffix(path, "/") }

func (g *git) versions(ctx context.Context, path string) ([]string, error) {
	out, err := g.run(ctx, g.scratch, "ls-remote", "--tags", "--refs", "--", address(path))
	if err != nil {
		return nil, err
	}
	var vs []string
	for _, line := range strings.Split(string(out), "\n") {
		_, tag, ok := strings.Cut(line, "refs/tags/")
		if ok && semver.IsValid(tag) && semver.Canonical(tag) == tag {
			vs = append(vs, tag)
		}
	}
	return vs, nil
}

// clone makes a checkout of a version, or finds the one that it made.
func (g *git) clone(ctx context.Context, v module.Version) (string, error) {
	escaped, err := module.EscapePath(v.Path)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(g.scratch, filepath.FromSlash(escaped)+"@"+v.Version)
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	_, err = g.run(ctx, g.scratch, "clone", "--quiet", "--depth", "1", "--branch", v.Version, "-c", "advice.detachedHead=false",
		"--", address(v.Path), dir)
	if err != nil && strings.Contains(err.Error(), "not found in upstream") {
		return "", errAbsent
	}
	return dir, err
}

func (g *git) mod(ctx context.Context, v module.Version) ([]byte, error) {
	dir, err := g.clone(ctx, v)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(dir, ModName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the repository has no %s", ModName)
	}
	return b, err
}

func (g *git) zip(ctx context.Context, v module.Version, w io.Writer) error {
	dir, err := g.clone(ctx, v)
	if err != nil {
		return err
	}
	return modzip.CreateFromVCS(w, v, dir, "HEAD", "")
}
