package readers

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A browser is a headless Chromium that a test drives: it opens pages, presses keys, clicks,
// and reads the content of pages. Its protocol is Chromium's own, over pipes.
type browser struct {
	t    *testing.T
	cmd  *exec.Cmd
	to   *os.File
	from *bufio.Reader
	last int
	page string   // session of the page
	bad  []string // errors in the page's console
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, to: inW, from: bufio.NewReaderSize(outR, 1<<20)}
	b.cmd = exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
		"--user-data-dir="+t.TempDir(), "--no-first-run", "--hide-scrollbars", "about:blank")
	b.cmd.ExtraFiles = []*os.File{inR, outW} // file descriptors 3 and 4 of the browser
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	t.Cleanup(func() {
		b.to.Close() // this ends the browser
		done := make(chan struct{})
		go func() { b.cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			b.cmd.Process.Kill()
			<-done
		}
		outR.Close()
	})
	_ = outR.SetReadDeadline(time.Now().Add(2 * time.Minute))
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.page = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call sends a request to the browser and returns the answer.
func (b *browser) call(method string, params, answer any) {
	b.t.Helper()
	b.last++
	m := map[string]any{"id": b.last, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.page != "" {
		m["sessionId"] = b.page
	}
	text, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		text, err := b.from.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		var a struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(text[:len(text)-1], &a); err != nil {
			b.t.Fatal(err)
		}
		switch {
		case a.Method == "Runtime.exceptionThrown", a.Method == "Log.entryAdded" &&
			strings.Contains(string(a.Params), `"level":"error"`):
			b.bad = append(b.bad, string(a.Params))
		case a.ID != b.last:
		case a.Error != nil:
			b.t.Fatalf("%s: %s", method, a.Error.Message)
		case answer != nil:
			if err := json.Unmarshal(a.Result, answer); err != nil {
				b.t.Fatal(err)
			}
			return
		default:
			return
		}
	}
}

// open opens a page, at the size of a screen.
func (b *browser) open(url string) { b.call("Page.navigate", map[string]any{"url": url}, nil) }

func (b *browser) size(wide, tall int) {
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": wide, "height": tall,
		"deviceScaleFactor": 1, "mobile": wide < 600}, nil)
}

// scheme selects the colour scheme, light or dark.
func (b *browser) scheme(name string) {
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": name}}}, nil)
}

// eval returns the value of a JavaScript expression on the page.
func (b *browser) eval(expr string, to any) {
	b.t.Helper()
	var a struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expr, "returnByValue": true,
		"awaitPromise": true}, &a)
	if len(a.ExceptionDetails) > 0 {
		b.t.Fatalf("%s: %.800s", expr, a.ExceptionDetails)
	}
	if to != nil && len(a.Result.Value) > 0 {
		if err := json.Unmarshal(a.Result.Value, to); err != nil {
			b.t.Fatalf("%s is %s: %v", expr, a.Result.Value, err)
		}
	}
}

// wait waits until an expression is true.
func (b *browser) wait(expr string) {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var ok bool
		if b.eval("!!("+expr+")", &ok); ok {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("not true in time: %s\n%s", expr, strings.Join(b.bad, "\n"))
		}
	}
}

// click clicks in the middle of the first element that a selector finds.
func (b *browser) click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.eval(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect();
		return {X: r.x + r.width / 2, Y: r.y + r.height / 2};
	})()`, selector), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y,
			"button": "left", "clickCount": 1}, nil)
	}
}

// drag moves the mouse, pressed, over parts of the width of an element.
func (b *browser) drag(selector string, from, to float64) {
	b.t.Helper()
	var at struct{ X, Y, W float64 }
	b.eval(fmt.Sprintf(`(() => {
		const r = document.querySelector(%q).getBoundingClientRect();
		return {X: r.x, Y: r.y + 8, W: r.width};
	})()`, selector), &at)
	for _, e := range []struct {
		kind string
		part float64
	}{{"mousePressed", from}, {"mouseMoved", (from + to) / 2}, {"mouseMoved", to}, {"mouseReleased", to}} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": e.kind, "x": at.X + e.part*at.W, "y": at.Y,
			"button": "left", "buttons": 1, "clickCount": 1}, nil)
	}
}

// write gives an element the keyboard focus, and types.
func (b *browser) write(selector, text string) {
	b.eval(fmt.Sprintf(`document.querySelector(%q).focus()`, selector), nil)
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}

// press presses a key.
func (b *browser) press(key string) {
	for _, kind := range []string{"keyDown", "keyUp"} {
		p := map[string]any{"type": kind, "key": key}
		if len(key) == 1 && kind == "keyDown" {
			p["text"] = key
		}
		b.call("Input.dispatchKeyEvent", p, nil)
	}
}

// picture saves a screenshot of the page, if $PPSCRIPT_PICTURES names a directory.
func (b *browser) picture(name string) {
	dir := os.Getenv("PPSCRIPT_PICTURES")
	if dir == "" {
		return
	}
	var a struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &a)
	png, err := base64.StdEncoding.DecodeString(a.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// fits checks that a page is no wider than the screen.
func (b *browser) fits() {
	b.t.Helper()
	var wide string
	b.eval(`[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll, .flame, pre, nav, svg, [hidden]")
		&& e.getBoundingClientRect().right > screen.width + 1)
		.map(e => e.tagName + "." + e.className + " " + e.getBoundingClientRect().right).join()`, &wide)
	if wide != "" {
		b.t.Errorf("wider than the screen: %s", wide)
	}
}
