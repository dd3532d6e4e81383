package budget

import (
	"strconv"
	"strings"

	"ppscript/runtime/text/diag"
)

// Off is the share that means no budget, even where there is a default one.
const Off = -1

// Parse reads a share of the CPUs: 1%, or 0.01; or off.
func Parse(text string) (share float64, err error) {
	if text == "off" {
		return Off, nil
	}
	number, percent := strings.CutSuffix(text, "%")
	share, err = strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share > 0) || share > 1 {
		return 0, diag.Errorf(diag.Usage, "option", "--budget",
			"got %q, want a share of all CPUs, up to 100%%, or off", text).WithHint("write --budget 1%%")
	}
	return share, nil
}
