package main

import (
	"context"
	"ppscript/runtime/plan"
	"regexp"
	"slices"
	"strings"
	"time"

	"ppscript/builtins/all"
	"ppscript/cmd/ppscript/editor/starfmt"
	"ppscript/cmd/ppscript/testreport"
	"ppscript/runtime/script"
	"ppscript/runtime/text/diag"
	"ppscript/stdlib"

	"github.com/spf13/cobra"
)

const testHelp = `Runs the functions test_... of *_test.star files: of the named files, and of all in and below the named directories (by default this one). A
test loads a script, runs it over a recording or over a list of events, and checks the result:

    load("./runqlat.star", "wakeups")            # functions of the library

    def test_late_thread():
        r = run(script("./runqlat.star", than = "1ms"), input = """
            sched:sched_wakeup pid:s32 comm:str
            sched:sched_switch prev_pid:s32 prev_state:s64 next_pid:s32 next_comm:str
            1ms 0 make/7 sched_wakeup pid=9 comm=cc
            5ms 0 make/7 sched_switch prev_pid=7 next_pid=9 next_comm=cc
        """)
        assert.eq(r[0].rows[0].max, 4 * ms)

In a list of events, a line with a colon in its first word declares an event and its fields (s8 to s64, u8 to u64, ns, str,
strN, dstr, arrays such as u64[6]); any other line is an event: time, CPU, thread (TID, COMM/TID or COMM/PID/TID), the event's name, field=value.
"TIME CPU lost N" are lost events. input = "trace.data" is a recording beside the test.

The words of tests: ppscript doc run, ppscript doc assert. Tests cannot look at the running kernel, nor write files.`

func testCommand(a *app) *cobra.Command {
	var t tester
	var pattern, format string
	var verbose bool
	c := &cobra.Command{
		Use: "test [-v] [-r PATTERN] [--format text|json|junit] [FILE|DIR...]", Short: "Run the tests of scripts", Long: testHelp,
		Example: "    ppscript test scripts\n    ppscript test -v -r late scripts/sched\n    ppscript test --format junit scripts > tests.xml",
		Args:    words(0, -1),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			t.app = a
			if t.pattern, err = regexp.Compile(pattern); err != nil {
				return usagef("option", "--run", "%w", err).
					WithHint("write a part of the tests' names: -r late")
			}
			if !slices.Contains(testreport.Formats, format) {
				return usagef("option", "--format", "got %q, want one of %s%s", format,
					strings.Join(testreport.Formats, ", "),
					diag.DidYouMean(format, testreport.Formats)).WithHint("write --format junit")
			}
			t.report = testreport.New(format, a.Text(), verbose)
			return t.run(args)
		},
	}
	c.Flags().StringVar(&format, "format", "text",
		"text, json (a line for each test), or junit (XML for build servers)")
	completeChoices(c, "format", testreport.Formats)
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "name every test, and show what it prints")
	c.Flags().StringVarP(&pattern, "run", "r", "", "only tests whose names the pattern fits")
	return c
}

// A tester runs test files, each in a host of its own.
type tester struct {
	app     *app
	pattern *regexp.Regexp
	report  testreport.Reporter

	ran, failed int
}

func (t *tester) run(args []string) error {
	t.app.libs.Offline = true
	if len(args) == 0 {
		args = []string{"."}
	}
	var files []string
	for _, arg := range args {
		found, err := starfmt.Tree(arg, "_test")
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return usagef("test", strings.Join(args, " "), "no *_test.star here").
			WithHint("write one: ppscript help test")
	}
	ctx, w := t.app.watchSignals(nil)
	defer w.close()
	t.app.libs.Ctx = ctx
	t.app.enterReader(true) // writes: hashes of libraries
	for _, f := range files {
		if ctx.Err() != nil {
			return exitError(exitInterrupted)
		}
		began, ran, failed := time.Now(), t.ran, t.failed
		t.file(ctx, f)
		t.report.File(f, t.ran-ran, t.failed-failed, time.Since(began))
	}
	if t.ran == 0 {
		name := strings.Join(args, " ")
		if t.pattern.String() == "" {
			return usagef("test", name, "there are no tests").
				WithHint("write one: def test_NAME(): assert.eq(1 + 1, 2)")
		}
		return usagef("test", name, "no test fits %q", t.pattern.String()).
			WithHint("list them: ppscript test -v")
	}
	if err := t.report.End(t.ran, t.failed); err != nil {
		return err
	}
	if t.failed > 0 {
		return exitError(exitRun)
	}
	return nil
}

// file runs the tests of one file. A file that cannot be loaded counts as a failed test.
func (t *tester) file(ctx context.Context, name string) {
	bench := newWorkbench(t.app, &common{}, func() context.Context { return ctx })
	// A tested script may not write files, whose content is among its results instead, or open
	// connections.
	bench.Base.Permit = func(u plan.Use) error {
		if u.Kind == plan.Reads || u.Kind == plan.Probes {
			return nil
		}
		return diag.Errorf(diag.Run, u.Kind.String(), u.Name,
			"a test may not open connections or write files").
			WithHint("give the test a recording, or events written down: ppscript help test")
	}
	bench.Replay, bench.Render.Color, bench.Render.Width, bench.Say = true, "never", 80, nil
	defer bench.Close()
	result := func(r testreport.Result) {
		t.ran++
		if r.File = name; r.Err != nil {
			t.failed++
		}
		t.report.Test(&r)
	}
	reg, err := all.Tests(bench)
	if err != nil {
		result(testreport.Result{Err: err})
		return
	}
	var prints []string
	host := script.NewHost(script.HostOptions{
		Predeclared: reg.Predeclared(),
		Stdlib:      stdlib.FS(),
		Resolve:     t.app.libs.Resolve,
		Limits:      t.app.bounds(lookTime),
		Hung:        t.app.hung,
		Print:       func(msg string) { prints = append(prints, msg) },
	})
	host.Session.Recorded = true // a test's events are a list in its text, or a file
	m, err := host.Load(name)
	if err != nil {
		result(testreport.Result{Err: err, Prints: prints})
		return
	}
	for _, fn := range m.Functions("test_") {
		if !t.pattern.MatchString(fn.Name) {
			continue
		}
		prints = nil
		start := time.Now()
		_, err := host.Call(fn.Fn)
		result(testreport.Result{
			Name:   fn.Name,
			Pos:    fn.Pos,
			Err:    err,
			Prints: prints,
			Took:   time.Since(start),
		})
	}
}
