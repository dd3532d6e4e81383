package library

import (
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// This file chooses versions: of every library that is needed, directly or
// indirectly, the highest version that is required anywhere. It never searches
// newer ones, so the choice stays the same until a ppscript.mod changes.

// A choice has the chosen versions by path, and the libraries that require each.
type choice struct {
	version  map[string]string
	requests map[module.Version][]module.Version // by whom; the zero Version is the main library
}

// choose walks the requirements. reqs returns the requirements of a library version.
func choose(main []module.Version, reqs func(module.Version) ([]module.Version, error)) (*choice, error) {
	c := &choice{version: map[string]string{}, requests: map[module.Version][]module.Version{}}
	type edge struct{ from, to module.Version }
	var queue []edge
	for _, v := range main {
		queue = append(queue, edge{module.Version{}, v})
	}
	seen := map[module.Version]bool{}
	for len(queue) > 0 {
		e := queue[0]
		queue = queue[1:]
		c.requests[e.to] = append(c.requests[e.to], e.from)
		if old := c.version[e.to.Path]; old == "" || semver.Compare(e.to.Version, old) > 0 {
			c.version[e.to.Path] = e.to.Version
		}
		if seen[e.to] {
			continue
		}
		seen[e.to] = true
		next, err := reqs(e.to)
		if err != nil {
			return nil, err
		}
		for _, v := range next {
			queue = append(queue, edge{e.to, v})
		}
	}
	return c, nil
}

// has reports that a version is chosen, itself or as a replacement.
func (c *choice) has(v module.Version, replaced func(module.Version) module.Version) bool {
	if c.version[v.Path] == v.Version {
		return true
	}
	for p, version := range c.version {
		if replaced(module.Version{Path: p, Version: version}) == v {
			return true
		}
	}
	return false
}

// list returns the chosen versions, sorted by path.
func (c *choice) list() []module.Version {
	var vs []module.Version
	for p, v := range c.version {
		vs = append(vs, module.Version{Path: p, Version: v})
	}
	slices.SortFunc(vs, func(a, b module.Version) int { return strings.Compare(a.Path, b.Path) })
	return vs
}

// find returns the chosen library that contains a path: the one with the
// longest prefix of it.
func (c *choice) find(path string) (module.Version, bool) {
	var best module.Version
	for p, v := range c.version {
		if (path == p || strings.HasPrefix(path, p+"/")) && len(p) > len(best.Path) {
			best = module.Version{Path: p, Version: v}
		}
	}
	return best, best.Path != ""
}

// why returns a chain of requirements from the main library to a chosen
// version.
func (c *choice) why(v module.Version) []module.Version {
	var chain []module.Version
	seen := map[module.Version]bool{}
	for v.Path != "" && !seen[v] {
		seen[v] = true
		chain = append(chain, v)
		v = c.requests[v][0]
	}
	slices.Reverse(chain)
	return chain
}
