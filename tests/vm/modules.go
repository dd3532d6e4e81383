package vm

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// This file finds the modules to load. busybox's modprobe would need the whole
// tree and its index in the guest; a list of insmods is enough.

// addModules adds the modules and their dependencies, and /modules/order with
// the files in the order of loading.
func addModules(w *cpio, kernel kernelDir, names []string) error {
	index, err := readModuleIndex(kernel.modules())
	if err != nil {
		return err
	}
	var files []string
	for _, name := range names {
		if files, err = index.resolve(files, name); err != nil {
			return fmt.Errorf("kernel %s: %w", kernel.release, err)
		}
	}
	var order strings.Builder
	for _, file := range files {
		content, err := readModule(filepath.Join(kernel.modules(), file))
		if err != nil {
			return err
		}
		at := "modules/" + moduleName(file) + ".ko"
		w.file(at, 0o644, content)
		order.WriteString("/" + at + "\n")
	}
	w.file("modules/order", 0o644, []byte(order.String()))
	return nil
}

// A moduleIndex has the information of depmod and of the kernel's build about
// modules.
type moduleIndex struct {
	file    map[string]string   // name to file
	needs   map[string][]string // file to files, the first needed one last
	builtin map[string]bool     // names
}

func readModuleIndex(dir string) (*moduleIndex, error) {
	deps, err := os.ReadFile(dir + "/modules.dep")
	if err != nil {
		return nil, err
	}
	builtin, err := os.ReadFile(dir + "/modules.builtin")
	if err != nil {
		return nil, err
	}
	return parseModuleIndex(string(deps), string(builtin)), nil
}

func parseModuleIndex(deps, builtin string) *moduleIndex {
	x := &moduleIndex{map[string]string{}, map[string][]string{}, map[string]bool{}}
	for line := range strings.Lines(deps) {
		if file, needs, ok := strings.Cut(line, ":"); ok {
			x.file[moduleName(file)] = file
			x.needs[file] = strings.Fields(needs)
		}
	}
	for line := range strings.Lines(builtin) {
		x.builtin[moduleName(strings.TrimSpace(line))] = true
	}
	return x
}

// moduleName returns the name of a module from its file.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// resolve appends the dependencies of name and name itself to files, each once.
func (x *moduleIndex) resolve(files []string, name string) ([]string, error) {
	name = moduleName(name)
	file, ok := x.file[name]
	if !ok {
		if x.builtin[name] {
			return files, nil
		}
		return nil, fmt.Errorf("no module %s", name)
	}
	needs := slices.Clone(x.needs[file])
	slices.Reverse(needs)
	for _, f := range append(needs, file) {
		if !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	return files, nil
}

// readModule returns the module itself; newer kernels ship them compressed.
func readModule(file string) ([]byte, error) {
	switch path.Ext(file) {
	case ".xz":
		return exec.Command("xz", "-dc", file).Output()
	case ".zst":
		return exec.Command("zstd", "-qdc", file).Output()
	}
	return os.ReadFile(file)
}
