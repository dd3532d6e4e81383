package live

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
)

// This file builds the page, which is one file with its style and its scripts. A security
// policy lets no other script run in it.

//go:embed page
var files embed.FS

// scripts are the files of the page's program, in order.
var scripts = []string{"words.js", "table.js", "chart.js", "tree.js", "flame.js", "timeline.js", "log.js",
	"app.js"}

type pageParts struct {
	before, after string // a snapshot has its data between them
	policy        string
	packed        []byte // the whole page without data, compressed
}

var page = sync.OnceValue(func() *pageParts {
	read := func(name string) string {
		text, err := files.ReadFile("page/" + name)
		if err != nil {
			panic("BUG: the page lacks " + err.Error())
		}
		return string(text)
	}
	var code strings.Builder
	code.WriteString("\"use strict\";\n(function () {\n")
	for _, name := range scripts {
		code.WriteString(read(name))
	}
	code.WriteString("})();\n")
	style, program := read("page.css"), code.String()
	// The policy needs no inline styles: styles that scripts set on elements
	// are allowed.
	p := &pageParts{policy: "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; " +
		"style-src " + hashOf(style) + "; script-src " + hashOf(program) + "; connect-src "}
	text := strings.Replace(read("page.html"), "/*style*/", style, 1)
	p.before, p.after, _ = strings.Cut(text, "<!--data-->")
	p.after = strings.Replace(p.after, "/*script*/", program, 1)
	var b bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	zip.Write([]byte(p.before + p.after)) // writes to memory do not fail
	zip.Close()
	p.packed = b.Bytes()
	return p
})

// hashOf returns the hash by which a policy allows a script or style.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	p, h := page(), w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.policy+"'self'; frame-ancestors 'none'")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		w.Write(p.packed)
		return
	}
	w.Write([]byte(p.before + p.after))
}
