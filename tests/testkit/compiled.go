package testkit

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// clangVersion is the version of clang that compiled the objects in the tree, Debian 12's. Other
// versions generate other instructions.
const clangVersion = "14.0.6"

// theClang is the need of exactly this version.
var theClang = Need{"clang " + clangVersion, false, func() string {
	out, err := exec.Command("clang", "--version").Output()
	if err != nil || !bytes.Contains(out, []byte("clang version "+clangVersion)) {
		return "apt-get install clang, on Debian 12"
	}
	return ""
}}

// Compiled checks that clang makes name.o, for programs of the kernel, of name.c in the directory of the
// test, with these constants of Go and further flags. With update it writes the object anew.
func Compiled(t *testing.T, name string, update bool, constants map[string]int64, flags ...string) {
	t.Helper()
	Requires(t, Clang, theClang)
	made := filepath.Join(t.TempDir(), filepath.Base(name)+".o")
	args := []string{"-target", "bpfel", "-mcpu=v2", "-O2", "-Wall", "-Wextra", "-Werror",
		"-Wno-unused-parameter", "-Wno-unused-function", "-Wno-parentheses", "-Wno-implicit-fallthrough",
		"-fno-ident", "-fno-addrsig", "-I", "../assembler", "-c", name + ".c", "-o", made}
	args = append(args, flags...)
	for c, v := range constants {
		args = append(args, fmt.Sprintf("-D%s=%d", c, v))
	}
	slices.Sort(args[len(args)-len(constants):])
	if out, err := exec.Command("clang", args...).CombinedOutput(); err != nil {
		t.Fatalf("clang %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	got, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	if update {
		err = os.WriteFile(name+".o", got, 0o644)
	}
	want, err2 := os.ReadFile(name + ".o")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s.o is not of %s.c and its constants: go test . -run %s -update", name, name, t.Name())
	}
}
