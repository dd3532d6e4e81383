package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// bill writes a bill of materials in the form CycloneDX 1.5: the modules in the
// program with their versions, read from the program's build information.
func (d *distribution) bill(arch, name, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	type hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	type property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	type component struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		Version string `json:"version"`
		PURL    string `json:"purl,omitempty"`
		Hashes  []hash `json:"hashes,omitempty"`
		// Properties has Go's hash of a module, since the form has no such algorithm.
		Properties []property `json:"properties,omitempty"`
	}
	components := []component{
		{Type: "platform", Name: "go", Version: strings.TrimPrefix(info.GoVersion, "go")},
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{Type: "library", Name: m.Path, Version: m.Version,
			PURL: fmt.Sprintf("pkg:golang/%s@%s", m.Path, m.Version)}
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		components = append(components, c)
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"serialNumber": fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10],
			sum[10:16]),
		"metadata": map[string]any{
			"timestamp": d.time.Format("2006-01-02T15:04:05Z"),
			"component": component{Type: "application", Name: "ppscript", Version: d.version,
				Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sum)}}},
		},
		"components": components,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(d.path(d.base(arch, name)+".cdx.json"), append(text, '\n'), 0o644)
}
