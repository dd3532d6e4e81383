// Package pyroscope sends profiles to a Pyroscope server: files in pprof's
// format, to /ingest.
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

// Option is the name of the option with the server's URL.
const Option = "pyroscope"

// headersVariable is the environment variable with headers for requests, which
// may contain secrets.
const headersVariable = "PYROSCOPE_HEADERS"

// A Server sends profiles to a Pyroscope server.
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

// Check returns an error if the URL of a server or the headers are wrong.
func Check(text string) error {
	_, _, _, err := settle(text)
	return err
}

// Open makes a Server for a URL. say prints messages about failures.
func Open(text string, say func(line string)) (*Server, error) {
	u, shown, header, err := settle(text)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // without a name, profiles of machines cannot be distinguished
	return &Server{
		sender: push.New(push.Options{Option: Option, Where: shown, Header: header, Say: say}),
		url:    u.JoinPath("ingest"),
		host:   host,
	}, nil
}

// Stats returns the counts of sent and failed messages.
func (s *Server) Stats() push.Stats { return s.sender.Stats() }

// Close sends waiting messages. Its error says how many messages were not
// delivered.
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

// A sampleType says how Pyroscope shows a sample type.
type sampleType struct {
	Units       string `json:"units"`
	DisplayName string `json:"display-name"`
	Aggregation string `json:"aggregation"`
	Sampled     bool   `json:"sampled"`
}

// config returns the sample types of a profile.
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

// query returns the parameters that describe a profile: name, labels and times.
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

// word replaces characters that have a meaning in names of applications.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_.", r) {
			return r
		}
		return '_'
	}, s)
}
