package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinks has a site made, and follows each link inside it.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	paths, _ := filepath.Glob(dir + "/*")
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = string(b)
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
		if strings.Contains(body, "https://") && strings.Contains(body, "<script src=\"https") {
			t.Errorf("%s: takes a script from elsewhere", name)
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
