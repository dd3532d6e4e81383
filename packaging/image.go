package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// This file writes a container image in the OCI image layout, which podman,
// docker and containerd can load.

// A descriptor refers to a blob by its hash.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

const oci = "application/vnd.oci.image."

// image writes an image that contains only the program, for all architectures.
func (d *distribution) image(programs map[string]string) error {
	say("writing the container image")
	layout := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	add := func(kind string, b []byte) descriptor {
		digest := fmt.Sprintf("%x", sha256.Sum256(b))
		layout["blobs/sha256/"+digest] = b
		return descriptor{MediaType: oci + kind, Digest: "sha256:" + digest, Size: len(b)}
	}
	addJSON := func(kind string, v any) (descriptor, error) {
		b, err := json.Marshal(v)
		return add(kind, b), err
	}
	var manifests []descriptor
	for _, arch := range d.arches {
		layer, err := d.tar([]file{{"/usr/bin/ppscript", programs[arch], 0o755}})
		if err != nil {
			return err
		}
		config, err := addJSON("config.v1+json", map[string]any{
			"created": d.time.Format("2006-01-02T15:04:05Z"), "architecture": arch, "os": "linux",
			"config": map[string]any{"Entrypoint": []string{"/usr/bin/ppscript"},
				"Labels": map[string]string{"org.opencontainers.image.title": "ppscript",
					"org.opencontainers.image.version":  d.version,
					"org.opencontainers.image.licenses": "Apache-2.0"}},
			"rootfs": map[string]any{"type": "layers",
				"diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
		})
		if err != nil {
			return err
		}
		manifest, err := addJSON("manifest.v1+json", map[string]any{
			"schemaVersion": 2, "mediaType": oci + "manifest.v1+json", "config": config,
			"layers": []descriptor{add("layer.v1.tar+gzip", squeezed(layer))},
		})
		if err != nil {
			return err
		}
		manifest.Platform = &platform{arch, "linux"}
		manifests = append(manifests, manifest)
	}
	index, err := addJSON("index.v1+json", map[string]any{"schemaVersion": 2,
		"mediaType": oci + "index.v1+json", "manifests": manifests})
	if err != nil {
		return err
	}
	index.Annotations = map[string]string{"org.opencontainers.image.ref.name": "ppscript:" + tag(d.version)}
	layout["index.json"], err = json.Marshal(map[string]any{"schemaVersion": 2,
		"mediaType": oci + "index.v1+json", "manifests": []descriptor{index}})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	var names []string
	for name := range layout {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		header := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(layout[name])),
			ModTime: d.time, Format: tar.FormatPAX}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := w.Write(layout[name]); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(d.path(fmt.Sprintf("ppscript-%s-oci.tar", d.version)), b.Bytes(), 0o644)
}

// tag returns a version with the characters replaced that a tag of an image
// cannot have.
func tag(version string) string {
	b := []byte(version)
	for i, c := range b {
		if c == '~' || c == '+' {
			b[i] = '-'
		}
	}
	return string(b)
}
