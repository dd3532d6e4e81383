package render

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
)

// luminance is how light a colour is to the eye, 0 to 1 (WCAG 2.1).
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	var rgb [3]uint8
	if _, err := fmt.Sscanf(colour, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		t.Fatalf("%s: %v", colour, err)
	}
	sum := 0.0
	for i, weight := range [...]float64{0.2126, 0.7152, 0.0722} {
		v := float64(rgb[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// TestHeatColours checks that on either background many stands out, few can be seen, and the
// colours between are in order.
func TestHeatColours(t *testing.T) {
	f := func(background string, colours []string, few, many float64) {
		t.Helper()
		ground := luminance(t, background)
		contrast := func(c string) float64 {
			a, b := luminance(t, c)+0.05, ground+0.05
			return max(a, b) / min(a, b)
		}
		for i, c := range colours {
			if i > 0 && contrast(c) <= contrast(colours[i-1]) {
				t.Errorf("%s on %s: got a contrast of %.1f, want more than %.1f, that of fewer events", c,
					background, contrast(c), contrast(colours[i-1]))
			}
		}
		if got := contrast(colours[0]); got < few {
			t.Errorf("few on %s: got a contrast of %.1f, want %.1f at least", background, got, few)
		}
		if got := contrast(colours[len(colours)-1]); got < many {
			t.Errorf("many on %s: got a contrast of %.1f, want %.1f at least", background, got, many)
		}
	}
	f("#fbfbfa", heatColours[:], 1.3, 7)
	f("#14171c", heatDark[:], 2.5, 7)

	var h agg.Heat
	h.Add(0, event.IntNumber(1))
	picture := heatSVG(t, h.Result(HeatRows))
	for i, c := range heatDark {
		if want := fmt.Sprintf(".pp-heat .h%d { fill: %s; }", i, c); !strings.Contains(picture, want) {
			t.Errorf("the picture lacks %q for dark backgrounds", want)
		}
		if want := fmt.Sprintf(`class="h%d" fill="%s"`, i, heatColours[i]); !strings.Contains(picture, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}
