package tracefs

import (
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"ppscript/runtime/system/privilege"
)

// parseStrings parses the text of tracefs's printk_formats, or of the copy in a
// recording: the string constants at addresses that records have (the field s
// of rcu:rcu_utilization). The result is for Options.Strings.
func parseStrings(text string) func(addr uint64) (string, bool) {
	byAddr := map[uint64]string{}
	for line := range strings.Lines(text) {
		hex, quoted, ok := strings.Cut(line, ":")
		addr, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(hex), "0x"), 16, 64)
		if !ok || err != nil {
			continue
		}
		s := strings.TrimSpace(quoted)
		if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
			continue
		}
		byAddr[addr] = unescapeC(s[1 : len(s)-1])
	}
	return func(addr uint64) (string, bool) {
		s, ok := byAddr[addr]
		return s, ok
	}
}

// unescapeC undoes the kernel's escapes in printk_formats.
func unescapeC(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\"`, `"`).Replace(s)
}

// kernelStrings returns a look-up in this kernel's table, which is read at the
// first use.
func kernelStrings(root string) func(addr uint64) (string, bool) {
	table := sync.OnceValue(func() func(uint64) (string, bool) {
		text, _ := privilege.ReadFile(privilege.Kernel, filepath.Join(root, "printk_formats"))
		return parseStrings(string(text))
	})
	return func(addr uint64) (string, bool) { return table()(addr) }
}
