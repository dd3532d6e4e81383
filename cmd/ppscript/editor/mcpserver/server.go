// Package mcpserver lets language models and their agents ask questions about
// this machine. It serves the Model Context Protocol on standard input and
// output. Each question is a separate run of ppscript, bounded in time and in
// the length of its answer.
package mcpserver

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the permissions that the user who starts the server gives.
type Options struct {
	Program    string                 // the executable of ppscript
	Version    string                 // its version
	IsCommand  func(word string) bool // reports that a word is a subcommand, not a script
	MaxTime    time.Duration          // of one run
	RecordInto string                 // the folder for recordings; "" permits none
	Commands   bool                   // runs may start commands
}

// instructions is the text that a client gets when it connects.
const instructions = `ppscript observes this Linux machine: kernel events, latencies, stacks, where time went.
Discover before you guess: list finds profilers and events, describe tells a profiler's options and how to read it,
fields tells an event's fields. check and explain try a script without running it. run is bounded in time (seconds)
and in what it answers: of a long answer you get its beginning and its end, and a handle, for more.
Start with why, syscalls, profile, rundelay, offcpu, top. Numbers come with what was lost: do not conclude from a
result that says that events were lost without saying so.`

// Serve answers until the client disconnects or ctx ends.
func Serve(ctx context.Context, o Options) error {
	gone, leave := context.WithCancel(ctx)
	defer leave()
	s := &server{Options: o, shelf: newShelf(), slots: make(chan struct{}, atOnce), clientCtx: gone}
	m := mcp.NewServer(&mcp.Implementation{Name: "ppscript", Version: o.Version},
		&mcp.ServerOptions{Instructions: instructions})
	s.look(m)
	s.ask(m)
	if o.RecordInto != "" {
		no := false
		mcp.AddTool(m, &mcp.Tool{Name: "record", Annotations: &mcp.ToolAnnotations{DestructiveHint: &no},
			Description: "Records events into a file, for later questions (run and sql with input)."},
			s.record)
	}
	return m.Run(ctx, &patientTransport{&mcp.IOTransport{Reader: os.Stdin, Writer: os.Stdout}, os.Stdout,
		leave})
}

type server struct {
	Options
	shelf     *shelf
	slots     chan struct{}   // has a value for each run in progress
	clientCtx context.Context // ends with the client
}

// tool adds a tool that changes nothing.
func tool[In any](m *mcp.Server, name, description string,
	fn func(context.Context, In) (answer, error)) {
	local := false
	mcp.AddTool(m, &mcp.Tool{Name: name, Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &local}},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			a, err := fn(ctx, in)
			if err != nil {
				return nil, nil, err
			}
			return a.result(), nil, nil
		})
}

// look adds the tools that list and describe profilers, events, words and
// pages.
func (s *server) look(m *mcp.Server) {
	tool(m, "list",
		"Lists profilers and scripts (what=scripts), kernel events (events) or pages of the book (topics).",
		s.list)
	tool(m, "describe",
		"Tells what a profiler or script answers, its options, how to read its result, what it costs.",
		func(ctx context.Context, in struct {
			Name string `json:"name" jsonschema:"as list has it, such as rundelay"`
		}) (answer, error) {
			return s.quick(ctx, "help", in.Name)
		})
	tool(m, "help",
		"Shows a page of the book: tutorial, cookbook, language, why, from-bpftrace, ... (list topics).",
		func(ctx context.Context, in struct {
			Topic string `json:"topic"`
		}) (answer, error) {
			return s.quick(ctx, "help", "topic", in.Topic)
		})
	tool(m, "fields", "Tells the fields of a kernel event, with their types.",
		func(ctx context.Context, in struct {
			Event string `json:"event" jsonschema:"such as sched:sched_switch"`
		}) (answer, error) {
			return s.quick(ctx, "help", "event", in.Event)
		})
	tool(m, "words", "Tells the words of the language, or one of them with parameters and an example.",
		func(ctx context.Context, in struct {
			Name string `json:"name,omitempty" jsonschema:"such as join or stream.by; empty lists all"`
		}) (answer, error) {
			return s.quick(ctx, strings.Fields("doc "+in.Name)...)
		})
	tool(m, "doctor", "Tells what works on this machine, and what is missing.",
		func(ctx context.Context, _ struct{}) (answer, error) { return s.quick(ctx, "doctor") })
	tool(m, "more", "Shows more of an answer that was cut.", s.more)
}

// ask adds the tools that check, explain or run scripts, or read recordings.
func (s *server) ask(m *mcp.Server) {
	tool(m, "check", "Finds mistakes in a script without running it, and tells what it would open and where it runs.",
		func(ctx context.Context, in struct {
			Program string `json:"program" jsonschema:"a script with main, or one expression"`
		}) (answer, error) {
			a, err := s.onScript(ctx, "check", script{Program: in.Program}, nil)
			if err != nil || a.failed {
				return a, err
			}
			plan, err := s.onScript(ctx, "explain", script{Program: in.Program}, nil)
			plan.text, plan.notes = a.text+"\n"+plan.text, a.notes+plan.notes
			return plan, err
		})
	tool(m, "explain", "Tells what a script would open, and what runs in the kernel, without running it.",
		func(ctx context.Context, in script) (answer, error) {
			return s.onScript(ctx, "explain", in, nil)
		})
	tool(m, "run",
		"Runs a profiler, or a script of yours, for some seconds, over this machine or over a recording.",
		s.run)
	tool(m, "sql",
		"Asks a question in SQL of events: each kind of event is a table, named as the event without its system.",
		s.sql)
	tool(m, "recording", "Tells what a recording (perf.data, trace.dat) has, and which profilers fit it.",
		func(ctx context.Context, in struct {
			File string `json:"file"`
		}) (answer, error) {
			if strings.HasPrefix(in.File, "-") {
				return answer{}, fmt.Errorf("file %s: want a path", in.File)
			}
			return s.quick(ctx, "info", in.File)
		})
}
