package kernel

import (
	"os"
	"strconv"
	"strings"
)

// A CPUModel identifies the CPU by x86's vendor, family and model. On other
// architectures it is empty.
type CPUModel struct {
	Vendor        string
	Family, Model int
}

// ReadCPUModel reads the model of the first CPU from /proc/cpuinfo; members
// that are not listed there stay empty.
func ReadCPUModel(r Roots) CPUModel {
	text, err := os.ReadFile(r.ProcPath("cpuinfo"))
	if err != nil {
		return CPUModel{}
	}
	return parseCPUModel(string(text))
}

func parseCPUModel(text string) (m CPUModel) {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok && strings.TrimSpace(line) == "":
			return m // end of the first CPU
		case key == "vendor_id":
			m.Vendor = value
		case key == "cpu family":
			m.Family, _ = strconv.Atoi(value)
		case key == "model":
			m.Model, _ = strconv.Atoi(value)
		}
	}
	return m
}
