package pyroscope

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"ppscript/runtime/event"
	"ppscript/runtime/output"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// What Pyroscope gets is what google/pprof reads, with the time and the name that it asks for.
func TestIngest(t *testing.T) {
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		got = fmt.Sprintln(r.Method, r.URL.Path, q["name"], q["from"], q["until"], q["format"])
		file, _, err := r.FormFile("profile")
		if err != nil {
			t.Error(err)
			return
		}
		p, err := profile.Parse(file)
		if err != nil {
			t.Error(err)
			return
		}
		for _, s := range p.Sample {
			got += fmt.Sprintln(s.Value, s.Label["comm"], s.Location[0].Line[0].Function.Name)
		}
		var types map[string]sampleType
		config, _, err := r.FormFile("sample_type_config")
		if err == nil {
			err = json.NewDecoder(config).Decode(&types)
		}
		if err != nil || types["cpu"].Units != "nanoseconds" || p.SampleType[1].Type != "cpu" ||
			len(types) != 2 {
			t.Errorf("got %v, %v for %v", types, err, p.SampleType)
		}
	}))
	defer srv.Close()
	s, err := Open(srv.URL, func(line string) { t.Error(line) })
	if err != nil {
		t.Fatal(err)
	}
	s.host = "web 1"
	sink := output.SendStacks(s)
	if err := sink.Begin(output.About{Script: "/tmp/my cpu.star"}); err != nil {
		t.Fatal(err)
	}
	f := &result.Frame{Symbol: "main", Addr: 0x500}
	err = sink.(output.Profiler).Profile(&result.Stacks{
		Meta: result.Meta{Begin: 1e9, End: 11e9, Wall: time.Unix(1_700_000_010, 0),
			Cost: &result.Cost{Budget: 0.5, Events: 0.25, Time: 1}},
		Keys: []result.Column{{Name: "comm"}}, Value: "period", Unit: unit.NS, Periods: true,
		Samples: []result.StackSample{{Key: []event.Value{event.StrOf("a")}, CallStack: result.StackOf(f),
			Count: 3, Value: 30}},
		Rest: []result.StackSample{{Key: []event.Value{event.StrOf("b")}, CallStack: result.StackOf(f),
			Count: 1, Value: 5}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	want := "POST /ingest [ppscript.my_cpu{hostname=web_1,estimated=true}] [1700000000] [1700000010] [pprof]\n" +
		"[3 30] [a] main\n[1 5] [b] main\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
