package sshlink

import (
	"strings"

	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/diag"
)

// A Host is a machine that ssh can reach.
type Host struct {
	Name   string // the argument of ssh: a name in its configuration, USER@HOST, ssh://USER@HOST:PORT
	Labels map[string]string
}

// mostHosts bounds the size of a file of hosts, in bytes.
const mostHosts = 16 << 20

// ReadHosts reads a file with a host on each line, followed by its labels.
func ReadHosts(path string) (hosts []Host, err error) {
	text, err := infile.Read(path, mostHosts)
	if err != nil {
		return nil, diag.FileError("read hosts", path, err).
			OrHint("give a file with a host on each line, as ssh knows it, such as: db1 role=db")
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		refuse := func(format string, args ...any) error {
			return diag.Errorf(diag.Usage, "read hosts", path, format, args...).
				WithHint("write a host on each line, as ssh knows it, then its labels: db1 role=db rack=r7")
		}
		h := Host{Name: words[0], Labels: map[string]string{}}
		switch {
		case strings.HasPrefix(h.Name, "-"), strings.ContainsAny(h.Name, "=,*\x00"):
			return nil, refuse("%q is no name of a host", h.Name)
		case known[h.Name]:
			return nil, refuse("%s is there twice", h.Name)
		}
		known[h.Name] = true
		for _, word := range words[1:] {
			k, v, ok := strings.Cut(word, "=")
			if !ok || k == "" || v == "" {
				return nil, refuse("%s: %q is no label, NAME=VALUE", h.Name, word)
			}
			h.Labels[k] = v
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}
