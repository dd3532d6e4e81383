package symbols

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Members of structures that are passed in registers have their values, from the optimizer's debug
// information or from the calling convention; so have parameters after a structure. Other
// structures have no fields, or only those in a register, but never wrong ones.
func TestStructuresInRegisters(t *testing.T) {
	type of func(i int64) map[string]int64
	for _, level := range []string{"-O0", "-O2", "-O2 -gdwarf-4"} {
		program := debugProgram(t, "structs", strings.Fields(level)...)
		optimized := level != "-O0"
		for function, want := range map[string]of{
			"spans": func(i int64) map[string]int64 {
				return map[string]int64{"id": i, "s_count": 3000000000 + i, "s_low": -7 - i, "s_tag": -i,
					"behind": 40 + i}
			},
			"pairs": func(i int64) map[string]int64 {
				return map[string]int64{"p_x": -i, "p_y": 10 + i, "w_p_x": 20 + i, "w_p_y": -30 - i,
					"last": 5 + i}
			},
			"larges": func(i int64) map[string]int64 { return map[string]int64{"last": 8 + i} },
			"mixes":  func(i int64) map[string]int64 { return map[string]int64{"m_n": i, "last": 3 + i} },
		} {
			if !optimized && (function == "larges" || function == "mixes") {
				refusesField(t, program, function, "last")
				continue
			}
			keys := ""
			for name := range want(0) {
				keys += ", '" + name + "'"
			}
			for _, engine := range []string{"bpf", "perf"} {
				testkit.Again(t, func() (wrong []string) {
					out := testkit.Run(t, testkit.PPScript(t), "-c",
						fmt.Sprintf("uprobe(%q, %q).by(%s).count()", program, function, keys[2:]),
						"--engine", engine, "--format", "json", "--", program, "8").Want(t, 0)
					rows := tableOf(t, out.Stdout)
					found := 0
					for i := range int64(8) {
						for _, row := range rows {
							same := true
							for name, v := range want(i) {
								same = same && row.Int(t, name) == v
							}
							if same {
								found++
							}
						}
					}
					if found != 8 || len(rows) != 8 {
						wrong = append(wrong, fmt.Sprintf("%s, %s, %s: got %v, want 8 rows such as %v", level,
							function, engine, rows, want(7)))
					}
					return wrong
				})
			}
		}
		out := testkit.Run(t, testkit.PPScript(t), "-c",
			fmt.Sprintf("uretprobe(%q, 'gives').by('result').count()", program), "--", "true")
		if out.Exit == 0 || !strings.Contains(out.Stderr, "result") {
			t.Errorf("a structure is no number: got status %d, %q%q", out.Exit, out.Stdout, out.Stderr)
		}
		refusesField(t, program, "larges", "b_a")
		refusesField(t, program, "mixes", "m_d")
	}
}

// refusesField checks that a function has no such field.
func refusesField(t *testing.T, program, function, field string) {
	t.Helper()
	out := testkit.Run(t, testkit.PPScript(t), "-c",
		fmt.Sprintf("uprobe(%q, %q).by(%q).count()", program, function, field), "--", "true")
	if out.Exit == 0 || !strings.Contains(out.Stderr, field) {
		t.Errorf("%s of %s: got status %d, %q; want it refused", field, function, out.Exit, out.Stderr)
	}
}

// Methods of Rust, which debug information has inside their types, have their parameters by name; a
// text is an address and a length.
func TestParametersOfRust(t *testing.T) {
	testkit.Requires(t, testkit.Uprobes, testkit.AMD64, testkit.Program("rustc"))
	testkit.Requires(t, testkit.Live...)
	program := filepath.Join(testkit.Open(t), "shop")
	testkit.Run(t, "rustc", "-g", "-O", "-o", program, "testdata/shop.rs").Want(t, 0)
	testkit.Again(t, func() (wrong []string) {
		out := testkit.Run(t, testkit.PPScript(t), "-c",
			fmt.Sprintf("uprobe(%q, 'shop::shop::Till::sell').let(text = 'user_string(name)')"+
				".by('count', 'price', 'kind', 'name_len', 'text').agg(n = agg.count())", program),
			"--format", "json", "--", program).Want(t, 0)
		rows := tableOf(t, out.Stdout)
		for _, row := range rows {
			i := row.Int(t, "count") - 1
			kind := []string{"Small", "Large"}[i&1]
			if i < 0 || i > 4 || row.Int(t, "price") != i-3 || row.Text(t, "kind_text") != kind ||
				row.Int(t, "name_len") != 7-i || !strings.HasPrefix(row.Text(t, "text"), "apples1"[i:]) ||
				row.Int(t, "n") != 1 {
				wrong = append(wrong, fmt.Sprintf("got %v", row))
			}
		}
		if len(rows) != 5 {
			wrong = append(wrong, fmt.Sprintf("got %d rows, want 5: %s", len(rows), out.Stderr))
		}
		return wrong
	})
}
