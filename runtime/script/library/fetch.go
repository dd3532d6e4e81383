package library

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"ppscript/runtime/text/diag"
)

// A fetcher gets libraries that are not in the cache. errAbsent means that it
// does not have the library, and that the next fetcher may be asked.
type fetcher interface {
	versions(ctx context.Context, path string) ([]string, error)
	mod(ctx context.Context, v module.Version) ([]byte, error)
	zip(ctx context.Context, v module.Version, w io.Writer) error
}

var errAbsent = errors.New("not found")

// fetchers reads PPSCRIPTPROXY: a list of file:// and https:// addresses,
// direct (git), and off. Empty means direct.
func fetchers(setting string, s *scratch) ([]fetcher, error) {
	list, direct := []fetcher(nil), newGit(s)
	if setting == "" {
		setting = "direct"
	}
	for _, s := range strings.Split(setting, ",") {
		s = strings.TrimSpace(s)
		switch {
		case s == "off":
			list = append(list, offline{})
		case s == "direct":
			list = append(list, direct)
		case strings.HasPrefix(s, "file://"), strings.HasPrefix(s, "https://"),
			strings.HasPrefix(s, "http://"):
			u, err := url.Parse(s)
			if err != nil {
				return nil, badProxy(s)
			}
			list = append(list, &proxy{base: u})
		default:
			return nil, badProxy(s)
		}
	}
	return list, nil
}

func badProxy(s string) error {
	return diag.Errorf(diag.Usage, "setting", "PPSCRIPTPROXY", "got %q", s).
		WithHint("list file:///DIR, https://HOST/PATH, direct or off, separated by commas")
}

// offline is the fetcher for off: it returns an error that names the setting.
type offline struct{}

var errOff = errors.New(
	"not in the cache, and nothing is fetched by check, explain and test, or with PPSCRIPTPROXY=off")

func (offline) versions(context.Context, string) ([]string, error)   { return nil, errOff }
func (offline) mod(context.Context, module.Version) ([]byte, error)  { return nil, errOff }
func (offline) zip(context.Context, module.Version, io.Writer) error { return errOff }

// A proxy fetches by Go's module proxy protocol, from a server or a directory
// with the same layout.
type proxy struct{ base *url.URL }

func (p *proxy) versions(ctx context.Context, path string) ([]string, error) {
	escaped, err := module.EscapePath(path)
	if err != nil {
		return nil, err
	}
	b, err := p.read(ctx, escaped+"/@v/list", maxMod)
	if err != nil {
		return nil, err
	}
	var vs []string
	for _, v := range strings.Fields(string(b)) {
		if semver.IsValid(v) {
			vs = append(vs, v)
		}
	}
	return vs, nil
}

func (p *proxy) file(v module.Version, ext string) (string, error) {
	path, err := module.EscapePath(v.Path)
	if err != nil {
		return "", err
	}
	version, err := module.EscapeVersion(v.Version)
	return path + "/@v/" + version + ext, err
}

func (p *proxy) mod(ctx context.Context, v module.Version) ([]byte, error) {
	name, err := p.file(v, ".mod")
	if err != nil {
		return nil, err
	}
	return p.read(ctx, name, maxMod)
}

func (p *proxy) zip(ctx context.Context, v module.Version, w io.Writer) error {
	name, err := p.file(v, ".zip")
	if err != nil {
		return err
	}
	r, err := p.open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := io.Copy(w, io.LimitReader(r, maxZip+1))
	if err == nil && n > maxZip {
		err = fmt.Errorf("larger than %d bytes", maxZip)
	}
	return err
}

func (p *proxy) read(ctx context.Context, name string, limit int64) ([]byte, error) {
	r, err := p.open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readAll(r, limit)
}

func (p *proxy) open(ctx context.Context, name string) (io.ReadCloser, error) {
	if p.base.Scheme == "file" {
		f, err := openRegular(filepath.Join(p.base.Path, filepath.FromSlash(name)))
		if errors.Is(err, os.ErrNotExist) {
			return nil, errAbsent
		}
		return f, err
	}
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		strings.TrimRight(p.base.String(), "/")+"/"+name, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone {
		resp.Body.Close()
		cancel()
		return nil, errAbsent
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		cancel()
		return nil, fmt.Errorf("%s: %s", p.base.Host, resp.Status)
	}
	return &body{resp.Body, cancel}, nil
}

// body is a response body that cancels the request's context when it is closed.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
