package sinks

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"ppscript/runtime/event"
	"ppscript/runtime/output"
	"ppscript/runtime/output/live"
	"ppscript/runtime/output/metric"
	"ppscript/runtime/output/otlp"
	"ppscript/runtime/output/prometheus"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// A cellCase is a cell of a column, with its form in each kind of output. "-" means that the
// output leaves it out.
type cellCase struct {
	name       string
	column     result.Column
	value      event.Value
	text, csv  string
	json, twin string // twin is the member _text
	metric     string // value in Prometheus and OTLP
	label      string // value of a label, if the column is a key
}

// named returns the names of a column's values.
func named(name string) result.Column {
	names := func(event.Value) (string, bool) { return name, true }
	return result.Column{Wording: result.Wording{Names: names}}
}

// cellCases has a value of every type, at the ends of its range.
var cellCases = []cellCase{
	{name: "signed", value: event.IntOf(-5), text: "-5", csv: "-5", json: "-5", metric: "-5", label: "-5"},
	{name: "least", value: event.IntOf(math.MinInt64), text: "-9223372036854775808",
		csv:  "-9223372036854775808",
		json: "-9223372036854775808", metric: "-9.223372036854775808e+18", label: "-9223372036854775808"},
	{name: "unsigned", value: event.UintOf(1<<63 + 1), text: "9223372036854775809",
		csv: "9223372036854775809", json: "9223372036854775809", metric: "9.223372036854775808e+18", label: "9223372036854775809"},
	{name: "most", value: event.UintOf(math.MaxUint64), text: "18446744073709551615",
		csv: "18446744073709551615", json: "18446744073709551615", metric: "1.8446744073709551616e+19",
		label: "18446744073709551615"},
	{name: "beyond", value: event.IntOf(1<<53 + 1), text: "9007199254740993", csv: "9007199254740993",
		json: "9007199254740993", metric: "9.007199254740992e+15", label: "9007199254740993"},
	{name: "float", value: event.FloatOf(249.75), text: "249.75", csv: "249.75", json: "249.75",
		metric: "249.75", label: "249.75"},
	{name: "small", value: event.FloatOf(-0.5), text: "-0.5", csv: "-0.5", json: "-0.5", metric: "-0.5",
		label: "-0.5"},
	{name: "huge", value: event.FloatOf(1e300), text: "1" + strings.Repeat("[0-9]", 300), csv: "1[0-9]{300}",
		json: "1e\\+300", metric: "1e+300", label: "1e\\+300"},
	{name: "none", value: event.FloatOf(math.NaN()), text: "NaN", csv: "NaN", json: "null", metric: "-",
		label: "NaN"},
	{name: "yes", value: event.BoolOf(true), text: "true", csv: "true", json: "true", metric: "1",
		label: "true"},
	{name: "no", value: event.BoolOf(false), text: "false", csv: "false", json: "false", metric: "0",
		label: "false"},
	{name: "word", value: event.StrOf("a b"), text: "a b", csv: "a b", json: `"a b"`, metric: "-",
		label: "a b"},
	{name: "empty", value: event.Value{}, text: "-", csv: "", json: "null", metric: "-", label: ""},
	{name: "address", column: result.Column{Hex: true}, value: event.UintOf(0xffff888100000001),
		text: "0xffff888100000001", csv: "0xffff888100000001", json: "18446612686364999681",
		twin: "0xffff888100000001", metric: "1.8446612686365e+19", label: "0xffff888100000001"},
	{name: "ip", column: named("127.0.0.1"), value: event.StrOf("\x7f\x00\x00\x01"), text: "127.0.0.1",
		csv: "127.0.0.1", json: `"\\u007f\\u0000\\u0000\\u0001"`, twin: "127.0.0.1", metric: "-",
		label: "127.0.0.1"},
	{name: "state", column: named("TCP_CLOSE"), value: event.IntOf(7), text: "TCP_CLOSE", csv: "TCP_CLOSE",
		json: "7", twin: "TCP_CLOSE", metric: "7", label: "TCP_CLOSE"},
	{name: "took", column: result.Column{Unit: unit.US}, value: event.DurationOf(-1500), text: "-1.500",
		csv: "-1.5", json: "-1500", twin: "-1.500", metric: "-1.5e-06", label: "-1.5e-06"},
	{name: "list", value: event.ListOf(event.UintOf(1<<63), event.FloatOf(0.5), event.IntOf(-1)),
		text: `\(9223372036854775808, 0.5, -1\)`, csv: `9223372036854775808 0.5 -1`,
		json: `\[9223372036854775808,0.5,-1\]`, metric: "-", label: `\(9223372036854775808, 0.5, -1\)`},
}

// cellTable is a table of one row with a cell of each case, behind a key.
func cellTable() *result.Table {
	t := &result.Table{Meta: result.Meta{Name: "table"}, Columns: []result.Column{
		{Name: "k", Kind: result.KeyColumn, Left: true}}, Rows: [][]event.Value{{event.StrOf("key")}}}
	for _, x := range cellCases {
		c := x.column
		c.Name, c.Prec = x.name, result.UnitPrec
		t.Columns, t.Rows[0] = append(t.Columns, c), append(t.Rows[0], x.value)
	}
	return t
}

// wantCell compares a cell with what is wanted, a pattern.
func wantCell(t *testing.T, where, name, got, want string) {
	t.Helper()
	if !regexp.MustCompile("^" + want + "$").MatchString(got) {
		t.Errorf("%s: %s: got %q, want %s", where, name, got, want)
	}
}

// rendered returns the table in a format.
func rendered(t *testing.T, format string) string {
	var b bytes.Buffer
	r, err := render.New(&b, render.Options{Format: format, Width: 80, Notes: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Show(cellTable()); err != nil {
		t.Fatal(err)
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// cellsInJSON checks the members of the row in a record of the table.
func cellsInJSON(t *testing.T, where string, record []byte) {
	t.Helper()
	var r struct {
		Data struct{ Rows []map[string]json.RawMessage }
	}
	if err := json.Unmarshal(record, &r); err != nil || len(r.Data.Rows) != 1 {
		t.Fatalf("%s: got %v of %s", where, err, record)
	}
	for _, x := range cellCases {
		wantCell(t, where, x.name, string(r.Data.Rows[0][x.name]), x.json)
		twin := ""
		if raw := r.Data.Rows[0][x.name+"_text"]; raw != nil {
			if err := json.Unmarshal(raw, &twin); err != nil {
				t.Errorf("%s: %s_text: %v", where, x.name, err)
			}
		}
		wantCell(t, where, x.name+"_text", twin, x.twin)
	}
}

// A value of each type is the same value in every output, or left out if an output has no form for
// it: no number is cut, none changes its sign, and people see addresses and names. Parquet files
// are read by tests/readers.
func TestCellsKeepTheirTypes(t *testing.T) {
	// A new format must be added here.
	if got, want := render.Formats(), []string{"text", "json", "csv", "markdown"}; !slices.Equal(got, want) {
		t.Errorf("got formats %v, want %v: add the new one to this test", got, want)
	}
	t.Run("text", func(t *testing.T) {
		lines := strings.Split(strings.TrimRight(rendered(t, "text"), "\n"), "\n")
		got := strings.Join(strings.Fields(lines[len(lines)-1]), " ")
		want := "key"
		for _, x := range cellCases {
			want += " " + x.text
		}
		wantCell(t, "text", "row", got, want)
	})
	t.Run("markdown", func(t *testing.T) {
		lines := strings.Split(strings.TrimRight(rendered(t, "markdown"), "\n"), "\n")
		row := ""
		for _, l := range lines {
			if strings.HasPrefix(l, "| key") || strings.HasPrefix(l, "|key") {
				row = l
			}
		}
		cells := strings.Split(row, "|")
		if len(cells) != len(cellCases)+3 {
			t.Fatalf("got %d cells in %s", len(cells), row)
		}
		for i, x := range cellCases {
			cell := strings.ReplaceAll(strings.TrimSpace(cells[i+2]), `\`, "")
			wantCell(t, "markdown", x.name, cell, x.text)
		}
	})
	t.Run("csv", func(t *testing.T) {
		rows, err := csv.NewReader(strings.NewReader(rendered(t, "csv"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range cellCases {
			at := slices.IndexFunc(rows[0], func(s string) bool {
				return s == x.name || strings.HasPrefix(s, x.name+"(") || strings.HasPrefix(s, x.name+"_")
			})
			if at < 0 {
				t.Fatalf("no column %d %s in %v", i, x.name, rows[0])
			}
			wantCell(t, "csv", x.name, rows[1][at], x.csv)
		}
	})
	t.Run("json", func(t *testing.T) { cellsInJSON(t, "json", []byte(rendered(t, "json"))) })
	t.Run("live page", func(t *testing.T) {
		s := live.NewServer("127.0.0.1:0", "")
		if err := s.Listen(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, err := range []error{s.Begin(output.About{Script: "cells"}), s.Show(cellTable()), s.Flush()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		a, err := http.Get(s.URL("/api/v1/latest"))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := bytes.Cut(body, []byte("\n"))
		cellsInJSON(t, "live page", line)
	})
	t.Run("prometheus", func(t *testing.T) {
		store := metric.NewStore(0)
		if err := store.Script("x").Show(cellTable()); err != nil {
			t.Fatal(err)
		}
		h, err := prometheus.Handler(store, func(line string) { t.Error(line) })
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		got := map[string]string{}
		for line := range strings.Lines(w.Body.String()) {
			name, value, ok := strings.Cut(strings.TrimSpace(line), `{k="key"} `)
			if ok {
				got[strings.TrimSuffix(strings.TrimPrefix(name, "ppscript_x_"), "_seconds")] = value
			}
		}
		inMetrics(t, "prometheus", got)
	})
	t.Run("otlp", func(t *testing.T) {
		got := map[string]string{}
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			zip, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body, err := io.ReadAll(zip)
			req := pmetricotlp.NewExportRequest()
			if err := firstOf(err, req.UnmarshalProto(body)); err != nil {
				t.Error(err)
				return
			}
			list := req.Metrics().ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
			for i := range list.Len() {
				if m := list.At(i); m.Type() == pmetric.MetricTypeGauge {
					name := strings.TrimSuffix(strings.TrimPrefix(m.Name(), "ppscript_x_"), "_seconds")
					got[name] = fmt.Sprint(m.Gauge().DataPoints().At(0).DoubleValue())
				}
			}
		}))
		defer srv.Close()
		server, err := otlp.Open(otlp.MetricsOption, srv.URL, func(line string) { t.Log(line) })
		if err != nil {
			t.Fatal(err)
		}
		store := metric.NewStore(0)
		sink := otlp.MetricsOf(server, store)
		for _, s := range []output.Sink{store.Script("x"), sink} {
			err := firstOf(s.Begin(output.About{Script: "x"}), s.Show(cellTable()), s.Flush())
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
		inMetrics(t, "otlp", got)
	})
	t.Run("labels", func(t *testing.T) {
		for _, x := range cellCases {
			c := x.column
			c.Name, c.Kind = x.name, result.KeyColumn
			store := metric.NewStore(0)
			err := store.Script("x").Show(&result.Table{Meta: result.Meta{Name: "table"},
				Columns: []result.Column{c, {Name: "n"}},
				Rows:    [][]event.Value{{x.value, event.IntOf(3)}}})
			h, err2 := prometheus.Handler(store, func(line string) { t.Error(line) })
			if err := firstOf(err, err2); err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
			found := regexp.MustCompile(`(?m)^ppscript_x_n(?:\{[a-z_]*="(.*)"\})? 3$`).FindStringSubmatch(
				w.Body.String())
			if found == nil {
				t.Errorf("%s: no label in %s", x.name, w.Body)
				continue
			}
			wantCell(t, "label", x.name, found[1], x.label)
		}
	})
}

// inMetrics checks the numbers of metrics, by the name of the column.
func inMetrics(t *testing.T, where string, got map[string]string) {
	t.Helper()
	for _, x := range cellCases {
		value, ok := got[x.name]
		if ok == (x.metric == "-") {
			t.Errorf("%s: %s: got %q, want %s", where, x.name, value, x.metric)
			continue
		}
		if ok {
			var a, b float64
			fmt.Sscan(value, &a)
			fmt.Sscan(x.metric, &b)
			if a != b {
				t.Errorf("%s: %s: got %s, want %s", where, x.name, value, x.metric)
			}
		}
	}
}

// firstOf returns the first error that is not nil.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
