package explore

import (
	"bytes"
	"io"

	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
)

// A liveRenderer renders results during a run. Lines of logs are shown at once. All other results
// are collected into one text, which is shown in a pager at the end of the run.
type liveRenderer struct {
	render.Renderer // renders the lines of logs
	whole           render.Renderer
	text            bytes.Buffer
	out             io.Writer
}

func newShown(out io.Writer, o render.Options) (*liveRenderer, error) {
	s := &liveRenderer{out: out}
	var err error
	if s.Renderer, err = render.New(out, o); err != nil {
		return nil, err
	}
	s.whole, err = render.New(&s.text, o)
	return s, err
}

// Show implements render.Renderer.
func (s *liveRenderer) Show(r result.Result) error {
	if r.About() != nil {
		return s.whole.Show(r)
	}
	return s.Renderer.Show(r)
}

// end shows the collected results.
func (s *liveRenderer) end(page func(text string) error) error {
	if err := s.Renderer.Flush(); err != nil {
		return err
	}
	if err := s.whole.Flush(); err != nil || s.text.Len() == 0 {
		return err
	}
	if page != nil {
		return page(s.text.String())
	}
	_, err := s.text.WriteTo(s.out)
	return err
}
