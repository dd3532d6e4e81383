package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestBuild(t *testing.T) {
	list, out := t.TempDir(), t.TempDir()
	if err := build(out, list); err == nil {
		t.Error("an empty list: got no error")
	}
	const text = `{"id":"GO-1","modified":"2026-01-02T00:00:00Z","affected":[{"package":{"name":"example.com/m"},` +
		`"ranges":[{"events":[{"introduced":"0"},{"fixed":"1.2.3"}]}]}]}`
	if err := os.WriteFile(filepath.Join(list, "GO-1.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := build(out, list); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"ID/GO-1.json":       text,
		"index/db.json":      `{"modified":"2026-01-02T00:00:00Z"}`,
		"index/vulns.json":   `[{"id":"GO-1","modified":"2026-01-02T00:00:00Z"}]`,
		"index/modules.json": `[{"path":"example.com/m","vulns":[{"id":"GO-1","modified":"2026-01-02T00:00:00Z","fixed":"1.2.3"}]}]`,
	} {
		got, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || !json.Valid(got) || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}
}
