// Package langserver is a Language Server Protocol server for scripts. With it,
// editors show mistakes as the user types, complete names, events and fields,
// explain words, find definitions and format. Scripts are loaded, never run. A
// separate process, ppscript check, finds their mistakes.
package langserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"ppscript/builtins"
	"ppscript/builtins/explore"
	"ppscript/runtime/script"
)

// Options has the parts of the program that the server uses.
type Options struct {
	Version string
	Program string // the executable, which is run as: PROGRAM check --format json --as FILE -
	// Host makes a script host and the registry of its builtins.
	Host func() (*script.Host, *builtins.Registry, error)
	// Bench returns the fields of events.
	Bench *explore.Workbench
	// Resolve finds a file of a library and returns its full name and its text.
	Resolve func(module, from string) (name string, text []byte, err error)
	Scripts []string // names of profilers
}

// Serve answers requests until the client disconnects or ctx ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	s := &server{Options: o, open: map[string]*source{}}
	defer s.checks.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := jsonrpc2.NewBufferedStream(pipe{in, out}, jsonrpc2.VSCodeObjectCodec{})
	handler := jsonrpc2.HandlerWithError(s.handle).SuppressErrClosed()
	s.conn = jsonrpc2.NewConn(ctx, stream, handler)
	s.ctx, s.leave = ctx, cancel
	select {
	case <-s.conn.DisconnectNotify():
	case <-ctx.Done():
	}
	return nil
}

// A pipe is the connection to the client: requests are read from it, answers
// are written to it.
type pipe struct {
	io.Reader
	io.Writer
}

func (pipe) Close() error { return nil }

// A server serves one client. Requests are handled one after another.
type server struct {
	Options
	conn  *jsonrpc2.Conn
	ctx   context.Context
	leave func()
	open  map[string]*source

	checks sync.WaitGroup
}

// handle answers a request. The result for a notification is dropped.
func (s *server) handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
	var p documentParams
	if r.Params != nil && r.Method != "initialize" {
		if err := json.Unmarshal(*r.Params, &p); err != nil {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
		}
	}
	switch r.Method {
	case "initialize":
		return s.initialize(), nil
	case "shutdown", "initialized", "textDocument/didSave", "workspace/didChangeConfiguration",
		"workspace/didChangeWatchedFiles":
		return nil, nil
	case "exit":
		s.leave()
		return nil, nil
	case "textDocument/didOpen":
		return nil, s.edited(p.TextDocument, p.TextDocument.Text)
	case "textDocument/didChange":
		for _, c := range p.ContentChanges {
			if c.Range != nil {
				return nil, invalid("changes of parts of a text were not asked for")
			}
			if err := s.edited(p.TextDocument, c.Text); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case "textDocument/didClose":
		if d := s.open[p.TextDocument.URI]; d != nil {
			d.close()
			delete(s.open, p.TextDocument.URI)
		}
		return nil, nil
	}
	answer, ok := answers[r.Method]
	if !ok {
		if r.Notif {
			return nil, nil
		}
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound,
			Message: r.Method + " is not answered here"}
	}
	d := s.open[p.TextDocument.URI]
	if d == nil {
		return nil, invalid(p.TextDocument.URI + " is not open")
	}
	return answer(s, d, &p)
}

// answers has the handler of each request about an open document.
var answers = map[string]func(s *server, d *source, p *documentParams) (any, error){
	"textDocument/completion":    (*server).complete,
	"textDocument/hover":         (*server).hover,
	"textDocument/definition":    (*server).definition,
	"textDocument/formatting":    (*server).format,
	"textDocument/signatureHelp": (*server).signature,
	"textDocument/codeAction":    (*server).fixes,
	"textDocument/rename":        (*server).rename,
}

func invalid(message string) error {
	return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: message}
}

func (s *server) initialize() initializeResult {
	return initializeResult{
		Capabilities: capabilities{
			TextDocumentSync: 1,
			CompletionProvider: completionOptions{
				TriggerCharacters: []string{".", `"`, "'", ":", ">", "/"},
			},
			SignatureHelpProvider: signatureOptions{TriggerCharacters: []string{"(", ","}},
			HoverProvider:         true, DefinitionProvider: true, DocumentFormattingProvider: true,
			CodeActionProvider: true, RenameProvider: true,
		},
		ServerInfo: serverInfo{Name: "ppscript", Version: s.Version},
	}
}

// edited stores the new text of a document, loads it and starts a check.
func (s *server) edited(doc document, content string) error {
	d := s.open[doc.URI]
	if d == nil {
		path, err := pathOf(doc.URI)
		if err != nil {
			return invalid(err.Error())
		}
		d = &source{uri: doc.URI, path: path}
		s.open[doc.URI] = d
	}
	d.text, d.version = newText(content), doc.Version
	s.load(d)
	s.check(d)
	return nil
}

// pathOf returns the path of the file that a URI names, or a stand-in name for a
// document that was never saved.
func pathOf(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	switch {
	case u.Scheme == "file" && u.Path != "":
		return u.Path, nil
	case u.Scheme == "untitled":
		return "untitled.star", nil
	}
	return "", fmt.Errorf("%s: want a URI of a file", uri)
}

// uriOf returns the URI of a file.
func uriOf(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }
