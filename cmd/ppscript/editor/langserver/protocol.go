package langserver

// This file declares the messages of the Language Server Protocol, version 3.17,
// that the server uses. Lines and characters count from 0; a character is a
// UTF-16 code unit.

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string `json:"uri"`
	Range span   `json:"range"`
}

type document struct {
	URI     string `json:"uri"`
	Version *int   `json:"version,omitempty"`
	Text    string `json:"text,omitempty"`
}

// documentParams has the parameters of every request about a document; each
// request uses some of them.
type documentParams struct {
	TextDocument   document `json:"textDocument"`
	Position       position `json:"position"`
	ContentChanges []struct {
		Range *span  `json:"range"`
		Text  string `json:"text"`
	} `json:"contentChanges"`
	NewName string `json:"newName"` // only of rename
	Context struct {
		Diagnostics []diagnostic `json:"diagnostics"`
	} `json:"context"` // only of codeAction
}

type initializeResult struct {
	Capabilities capabilities `json:"capabilities"`
	ServerInfo   serverInfo   `json:"serverInfo"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type capabilities struct {
	TextDocumentSync           int               `json:"textDocumentSync"` // 1: the client sends whole texts
	CompletionProvider         completionOptions `json:"completionProvider"`
	HoverProvider              bool              `json:"hoverProvider"`
	DefinitionProvider         bool              `json:"definitionProvider"`
	DocumentFormattingProvider bool              `json:"documentFormattingProvider"`
	SignatureHelpProvider      signatureOptions  `json:"signatureHelpProvider"`
	CodeActionProvider         bool              `json:"codeActionProvider"`
	RenameProvider             bool              `json:"renameProvider"`
}

type signatureOptions struct {
	TriggerCharacters []string `json:"triggerCharacters"`
}

type signatureHelp struct {
	Signatures      []signatureInformation `json:"signatures"`
	ActiveSignature int                    `json:"activeSignature"`
	ActiveParameter int                    `json:"activeParameter"`
}

type signatureInformation struct {
	Label         string                 `json:"label"`
	Documentation string                 `json:"documentation,omitempty"`
	Parameters    []parameterInformation `json:"parameters"`
}

type parameterInformation struct {
	Label         string `json:"label"`
	Documentation string `json:"documentation,omitempty"`
}

type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []diagnostic  `json:"diagnostics"`
	Edit        workspaceEdit `json:"edit"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"` // by URI
}

type completionOptions struct {
	TriggerCharacters []string `json:"triggerCharacters"`
}

// Kinds of completion items, as the protocol numbers them.
const (
	kindMethod   = 2
	kindFunction = 3
	kindField    = 5
	kindVariable = 6
	kindProperty = 10
	kindFile     = 17
	kindEvent    = 23
)

type completionItem struct {
	Label         string    `json:"label"`
	Kind          int       `json:"kind"`
	Detail        string    `json:"detail,omitempty"`
	Documentation string    `json:"documentation,omitempty"`
	TextEdit      *textEdit `json:"textEdit,omitempty"`
}

type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

type hover struct {
	Contents markup `json:"contents"`
	Range    *span  `json:"range,omitempty"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// Severities of diagnostics, as the protocol numbers them.
const (
	severityError       = 1
	severityInformation = 3
)

type diagnostic struct {
	Range    span   `json:"range"`
	Severity int    `json:"severity"`
	Source   string `json:"source"`
	Message  string `json:"message"`
}

type publishParams struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}
