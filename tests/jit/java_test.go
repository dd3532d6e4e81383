package jit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Methods of Java have the shares that the program measured, with the map that the JVM writes when
// it ends.
func TestJavaMethodsAreNamed(t *testing.T) {
	testkit.Requires(t, testkit.Samples, testkit.Program("java"))
	testkit.Requires(t, testkit.Live...)
	defer func() {
		maps, _ := filepath.Glob("/tmp/perf-*.map")
		for _, path := range maps {
			if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "BurnOfTest.") {
				_ = os.Remove(path) // it is ours
			}
		}
	}()
	testkit.Again(t, func() (wrong []string) {
		record, said := profiled(t, nil, "java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit",
			"-XX:+PreserveFramePointer", "testdata/BurnOfTest.java")
		var much, little float64
		if _, err := fmt.Sscan(said, &much, &little); err != nil {
			t.Fatalf("the program said %q: %v", said, err)
		}
		by, _ := shares(t, record, func(stack []frame) string {
			for _, f := range stack {
				for _, name := range []string{"much", "little"} {
					if strings.Contains(f.Symbol, "BurnOfTest."+name+"(") {
						return name
					}
				}
			}
			return ""
		})
		return near(by, map[string]float64{"much": much, "little": little})
	})
}
