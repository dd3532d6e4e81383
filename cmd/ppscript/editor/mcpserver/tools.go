package mcpserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ppscript/cmd/ppscript/permit"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A script is the script of a question, by name or as text, with its options.
type script struct {
	Name    string   `json:"name,omitempty" jsonschema:"a profiler or script, as list has it, or the path of a file"`
	Program string   `json:"program,omitempty" jsonschema:"in place of name: a script with main, or one expression such as tracepoint(\"sched:sched_switch\").by(\"comm\").count()"`
	Options []string `json:"options,omitempty" jsonschema:"one word each, such as --than, 10ms, -p, 4711"`
}

type runInput struct {
	script
	Seconds float64  `json:"seconds,omitempty" jsonschema:"how long; 5 if left out"`
	Input   string   `json:"input,omitempty" jsonschema:"a recording to read in place of the kernel"`
	JSON    bool     `json:"json,omitempty" jsonschema:"in JSON, with exact numbers and units"`
	Command []string `json:"command,omitempty" jsonschema:"a command to observe, if this server permits it"`
}

type sqlInput struct {
	Events  []string `json:"events" jsonschema:"such as sched:sched_switch; each is a table"`
	Query   string   `json:"query" jsonschema:"such as select comm, count(*) from sched_wakeup group by 1 limit 10"`
	Seconds float64  `json:"seconds,omitempty"`
	Input   string   `json:"input,omitempty"`
}

type recordInput struct {
	Events  []string `json:"events"`
	Name    string   `json:"name" jsonschema:"name of the file, without folder"`
	Seconds float64  `json:"seconds,omitempty"`
	Stacks  bool     `json:"stacks,omitempty"`
}

type listInput struct {
	What string `json:"what" jsonschema:"scripts, events or topics"`
	Text string `json:"text,omitempty" jsonschema:"only those with this text; * ? [a-z] are wildcards"`
}

func (s *server) list(ctx context.Context, in listInput) (answer, error) {
	switch in.What {
	case "topics":
		return s.quick(ctx, "help", "topics")
	case "events":
		return s.quick(ctx, append([]string{"list", "events"}, words(in.Text)...)...)
	case "scripts", "":
		return s.quick(ctx, append([]string{"list", "scripts"}, words(in.Text)...)...)
	}
	return answer{}, fmt.Errorf("what %q: want scripts, events or topics", in.What)
}

func words(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func (s *server) run(ctx context.Context, in runInput) (answer, error) {
	bounds, err := s.bounds(in.Seconds, in.Input)
	if err != nil {
		return answer{}, err
	}
	if in.JSON {
		bounds = append(bounds, "--format", "json")
	}
	if len(in.Command) > 0 {
		if !s.Commands {
			return answer{},
				fmt.Errorf("command: this server starts no commands (ppscript mcp --commands permits it)")
		}
		bounds = append(append(bounds, "--"), in.Command...)
	}
	return s.onScript(ctx, "", in.script, bounds)
}

func (s *server) sql(ctx context.Context, in sqlInput) (answer, error) {
	bounds, err := s.bounds(in.Seconds, in.Input)
	if err != nil {
		return answer{}, err
	}
	options := []string{"--query", in.Query}
	for _, e := range in.Events {
		options = append(options, "-e", e)
	}
	return s.onScript(ctx, "", script{Name: "sql", Options: options}, bounds)
}

func (s *server) record(ctx context.Context, _ *mcp.CallToolRequest, in recordInput) (*mcp.CallToolResult,
	any, error) {
	bounds, err := s.bounds(in.Seconds, "")
	if err == nil && (in.Name != filepath.Base(in.Name) || strings.HasPrefix(in.Name, ".") ||
		strings.HasPrefix(in.Name, "-")) {
		err = fmt.Errorf("name %q: want the name of a file, without a folder", in.Name)
	}
	if err == nil {
		err = local(in.Events)
	}
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(s.RecordInto, in.Name)
	args := append([]string{"record", "-a", "-o", path, "-e", strings.Join(in.Events, ",")}, bounds...)
	if in.Stacks {
		args = append(args, "-g")
	}
	a, err := s.child(ctx, "", args...)
	if err != nil {
		return nil, nil, err
	}
	a.text = fmt.Sprintf("recorded into %s\n%s", path, a.text)
	return a.result(), nil, nil
}

// bounds returns the options that make a run end: --input for a recording, else
// --duration.
func (s *server) bounds(seconds float64, input string) ([]string, error) {
	if input != "" {
		if strings.HasPrefix(input, "-") {
			return nil, fmt.Errorf("input %s: want the path of a recording", input)
		}
		return []string{"--input", input}, nil
	}
	limit := s.MaxTime.Seconds()
	switch {
	case seconds == 0:
		seconds = min(5, limit)
	case seconds < 0 || seconds > limit:
		return nil, fmt.Errorf("seconds %v: want at most %v", seconds, limit)
	}
	return []string{"--duration", strconv.FormatFloat(seconds, 'f', -1, 64) + "s"}, nil
}

// onScript runs a subcommand, such as check, for a script; with command "" it
// runs the script.
func (s *server) onScript(ctx context.Context, command string, in script, bounds []string) (answer, error) {
	if err := permitted(in.Options); err != nil {
		return answer{}, err
	}
	dir, err := os.MkdirTemp("", "ppscript-mcp")
	if err != nil {
		return answer{}, err
	}
	defer os.RemoveAll(dir)
	var args []string
	if command != "" {
		args = append(args, command)
	}
	switch {
	case (in.Name == "") == (in.Program == ""):
		return answer{}, fmt.Errorf("want either name or program")
	case strings.HasPrefix(in.Name, "-"):
		return answer{}, fmt.Errorf("name %s: want a profiler or a file", in.Name)
	case in.Name != "":
		if err := s.named(in.Name); err != nil {
			return answer{}, err
		}
		args = append(args, in.Name)
	case strings.Contains(in.Program, "def main(") || command == "check":
		text := in.Program
		if !strings.Contains(text, "def main(") {
			text = fmt.Sprintf("def main():\n    return %s\n", strings.TrimSpace(text))
		}
		const name = "question.star" // relative: the run's working directory is dir
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return answer{}, err
		}
		args = append(args, name)
	default:
		args = append(args, "-c", in.Program)
	}
	if command != "check" { // before the client's options: the last of them could take it as its value
		args = append(args, "--"+permit.LookOnly)
	}
	args = append(args, in.Options...)
	return s.child(ctx, dir, append(args, bounds...)...)
}

// quick runs a subcommand that opens no events, such as list or help.
func (s *server) quick(ctx context.Context, args ...string) (answer, error) {
	for _, arg := range args[1:] {
		if strings.HasPrefix(arg, "-") {
			return answer{}, fmt.Errorf("%s: want a name", arg)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return s.child(ctx, "", args...)
}
