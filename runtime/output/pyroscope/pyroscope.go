// Package pyroscope sends profiles to Pyroscope, as pprof by its /ingest.
package pyroscope

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/output/push"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
)

// Option names the server.
const Option = "pyroscope"

// headersVariable has headers for requests, of which some are secret.
const headersVariable = "PYROSCOPE_HEADERS"

// A Server is a Pyroscope.
type Server struct {
	sender *push.Sender
	url    *url.URL
	host   string
}

func settle(text string) (u *url.URL, shown string, header http.Header, err error) {
	if u, shown, err = push.Address(Option, text); err != nil {
		return nil, "", nil, err
	}
	if header, err = push.Header(os.Getenv(headersVariable)); err != nil {
		return nil, "", nil, diag.Errorf(diag.Usage, "read", "$"+headersVariable, "%w", err).
			WithHint("export %s=authorization=Bearer%%20TOKEN", headersVariable)
	}
	return u, shown, header, nil
}

// Check finds mistakes in the URL of a server.
func Check(text string) error {
	_, _, _, err := settle(text)
	return err
}

// Open begins to send to a server.
func Open(text string, say func(line string)) (*Server, error) {
	u, shown, header, err := settle(text)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // without one, profiles of machines are not told apart
	return &Server{
		sender: push.New(push.Options{Option: Option, Where: shown, Header: header, Say: say}),
		url:    u.JoinPath("ingest"),
		host:   host,
	}, nil
}

// Stats tells what became of messages.
func (s *Server) Stats() push.Stats { return s.sender.Stats() }

// Close sends what waits and tells what did not arrive.
func (s *Server) Close() error { return s.sender.Close() }

// SendStacks implements output.StackSender.
func (s *Server) SendStacks(script string, stacks *result.Stacks) error {
	if len(stacks.Rest) > 0 {
		all := *stacks
		all.Samples = append(append([]result.StackSample(nil), stacks.Samples...), stacks.Rest...)
		stacks = &all
	}
	var profile bytes.Buffer
	if err := render.WriteStacks(&profile, render.PprofFormat, stacks, time.Time{}, ""); err != nil {
		return err
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("profile", "profile.pprof")
	if err == nil {
		_, err = part.Write(profile.Bytes())
	}
	if err == nil {
		part, err = form.CreateFormFile("sample_type_config", "sample_type_config.json")
	}
	if err == nil {
		err = json.NewEncoder(part).Encode(config(stacks))
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return err // never, in memory
	}
	u := *s.url
	u.RawQuery = s.query(script, stacks, time.Now()).Encode()
	s.sender.Send(push.Message{URL: u.String(), ContentType: form.FormDataContentType(),
		Body: body.Bytes()})
	return nil
}

// A sampleType tells Pyroscope how to show a sample type.
type sampleType struct {
	Units       string `json:"units"`
	DisplayName string `json:"display-name"`
	Aggregation string `json:"aggregation"`
	Sampled     bool   `json:"sampled"`
}

// config has the sample types that profiles of pprof have.
func config(s *result.Stacks) map[string]sampleType {
	types := map[string]sampleType{"samples": {"samples", "samples", "sum", false}}
	if s.Value != "" {
		name, unit := s.Value, "samples"
		switch s.Unit.Base {
		case "ns":
			unit = "nanoseconds"
			if s.Periods {
				name = "cpu"
			}
		case "B", "bytes":
			unit = "bytes"
		}
		types[name] = sampleType{unit, name, "sum", false}
	}
	return types
}

// query says what the profile is about.
func (s *Server) query(script string, stacks *result.Stacks, now time.Time) url.Values {
	until := stacks.Wall
	if until.IsZero() {
		until = now
	}
	from := until.Add(-time.Duration(max(stacks.End-stacks.Begin, 0)))
	labels := "hostname=" + word(s.host)
	if stacks.Cost.Sampled() {
		labels += ",estimated=true" // the profile's comment says how much was left out
	}
	return url.Values{
		"name":    {"ppscript." + word(strings.TrimSuffix(path.Base(script), ".star")) + "{" + labels + "}"},
		"from":    {strconv.FormatInt(from.Unix(), 10)},
		"until":   {strconv.FormatInt(max(until.Unix(), from.Unix()+1), 10)}, // in whole seconds
		"format":  {"pprof"},
		"spyName": {"ppscript"},
	}
}

// word has nothing that means something in names of applications.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_.", r) {
			return r
		}
		return '_'
	}, s)
}
