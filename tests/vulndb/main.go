// Package main makes a database for govulncheck from Go's list of vulnerabilities, which is
// available as a module. It is for machines that can reach the module proxy but not vuln.go.dev.
// make vulnerable runs it.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A report has the members that the index needs from a file in the list, which is
// in OSV's form.
type report struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Affected []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
		Ranges []struct {
			Events []struct {
				Fixed string `json:"fixed"`
			} `json:"events"`
		} `json:"ranges"`
	} `json:"affected"`
}

// A vulnerability is an entry of the index; fixed is the last version that fixes it.
type vulnerability struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Fixed    string    `json:"fixed,omitempty"`
}

// A module is the entry of a module in the index.
type module struct {
	Path            string          `json:"path"`
	Vulnerabilities []vulnerability `json:"vulns"`
}

func main() {
	out := flag.String("o", "", "the `folder` of the database")
	flag.Parse()
	if flag.NArg() != 1 || *out == "" {
		fmt.Fprintln(os.Stderr, "usage: vulndb -o FOLDER LIST, a folder of OSV files")
		os.Exit(2)
	}
	if err := build(*out, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "vulndb:", err)
		os.Exit(1)
	}
}

// build writes the database for the OSV files in the directory list to the
// directory out.
func build(out, list string) error {
	names, err := filepath.Glob(filepath.Join(list, "*.json"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("read list %s: no OSV files", list)
	}
	var all []vulnerability
	modules := map[string]map[string]vulnerability{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var r report
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		all = append(all, vulnerability{ID: r.ID, Modified: r.Modified})
		for _, a := range r.Affected {
			v := vulnerability{ID: r.ID, Modified: r.Modified}
			for _, ranged := range a.Ranges {
				for _, e := range ranged.Events {
					v.Fixed = cmp.Or(e.Fixed, v.Fixed)
				}
			}
			if modules[a.Package.Name] == nil {
				modules[a.Package.Name] = map[string]vulnerability{}
			}
			modules[a.Package.Name][r.ID] = v
		}
		if err := write(filepath.Join(out, "ID", r.ID+".json"), json.RawMessage(text)); err != nil {
			return err
		}
	}
	var index []module
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		m := module{Path: path}
		for _, id := range slices.Sorted(maps.Keys(modules[path])) {
			m.Vulnerabilities = append(m.Vulnerabilities, modules[path][id])
		}
		index = append(index, m)
	}
	newest := slices.MaxFunc(all, func(a, b vulnerability) int { return a.Modified.Compare(b.Modified) })
	for name, value := range map[string]any{
		"db": map[string]time.Time{"modified": newest.Modified}, "vulns": all, "modules": index,
	} {
		if err := write(filepath.Join(out, "index", name+".json"), value); err != nil {
			return err
		}
	}
	return nil
}

// write makes a file of the database.
func write(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
