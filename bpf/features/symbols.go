package features

import (
	"bytes"
	"os"
	"strconv"
)

// listed finds where a variable lies in the memory of each CPU in /proc/kallsyms. Types that
// old versions of pahole made have no variables, such as the types of Debian's 5.10.
func listed(symbols, name string) (at int, ok bool) {
	text, err := os.ReadFile(symbols)
	if err != nil {
		return 0, false
	}
	start, has := address(text, "__per_cpu_start")
	variable, is := address(text, name)
	// Without the privilege all addresses are 0.
	return int(variable - start), has && is && variable > start
}

// address finds the address of a variable of the kernel, but not of its modules, in lines
// "ADDRESS TYPE NAME".
func address(text []byte, name string) (uint64, bool) {
	at := bytes.Index(text, []byte(" "+name+"\n"))
	if at < 0 {
		return 0, false
	}
	line := bytes.Fields(text[bytes.LastIndexByte(text[:at], '\n')+1 : at])
	if len(line) != 2 || !bytes.ContainsAny(line[1], "AaBbDdVv") {
		return 0, false
	}
	v, err := strconv.ParseUint(string(line[0]), 16, 64)
	return v, err == nil
}
