package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppscript/docs/pictures"
)

// elsewhere matches references that a browser would load from another machine.
var elsewhere = regexp.MustCompile(
	`(?i)<(?:script|img|link|iframe|image|use)[^>]*(?:src|href)="(?:https?:)?//[^"]*"|url\(["']?https?:|@import`)

// TestLinks makes a site, and follows each link inside it.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d files", len(files))
	}
	follow := func(from, to string) {
		if strings.Contains(to, "://") {
			return
		}
		name, place, _ := strings.Cut(to, "#")
		if name == "" {
			name = from
		}
		body, ok := files[name]
		if !ok || place != "" && !strings.Contains(body, `id="`+place+`"`) {
			t.Errorf("%s: a link leads to %s, which is not there", from, to)
		}
	}
	for name, body := range files {
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			follow(name, m[1])
		}
		// Examples may contain addresses, but nothing is loaded from them.
		if m := elsewhere.FindString(body); m != "" {
			t.Errorf("%s: takes something from elsewhere: %s", name, m)
		}
	}
	found := regexp.MustCompile(`"page":"([^"]*)"`).FindAllStringSubmatch(files["search.js"], -1)
	if len(found) < 100 {
		t.Errorf("the search knows %d parts of pages", len(found))
	}
	for _, m := range found {
		follow("search.js", m[1])
	}
}

// TestCosts compares the numbers of the picture with those of docs/cost.md, in its order.
func TestCosts(t *testing.T) {
	page, err := os.ReadFile("../cost.md")
	if err != nil {
		t.Fatal(err)
	}
	picture, err := pictures.Files.ReadFile("cost.svg")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(page), "\n")
	groups := strings.Split(string(picture), `<text class="head"`)[1:]
	if len(groups) < 4 {
		t.Errorf("%d groups of bars", len(groups))
	}
	for _, group := range groups {
		name := regexp.MustCompile(`>([^<]*)</text>`).FindStringSubmatch(group)[1]
		at := slices.IndexFunc(lines, func(line string) bool {
			return strings.HasPrefix(strings.Replace(line, "enter-to-exit ", "", 1), "| "+name+" ")
		})
		if at < 0 {
			t.Errorf("docs/cost.md has no table of %q", name)
			continue
		}
		for i, m := range regexp.MustCompile(`>([\d,]+)</text>`).FindAllStringSubmatch(group, -1) {
			if !slices.Contains(strings.Fields(lines[at+2+i]), m[1]) {
				t.Errorf("%s: %s is not in %q", name, m[1], lines[at+2+i])
			}
		}
	}
}
