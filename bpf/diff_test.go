package bpf

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/fold"
	"ppscript/runtime/text/diag"
	"ppscript/tests/testkit"
)

// This file runs random predicates, keys and aggregations on random records in
// the kernel and natively, and wants the same rows. Records are given to the
// programs by the kernel's own test command, as arguments of a raw tracepoint.

var programs = flag.Int("programs", usual, "random programs to compare")

// usual is how many programs are compared unless -programs asks for more. limit bounds the CPU's time that
// they take then, and least is how many are compared whatever they take: in a guest, whose CPU is emulated,
// the work of others on this machine looks like its own.
const (
	usual = 400
	limit = 40 * time.Second
	least = 15
)

// record is the input of a raw tracepoint's program: 12 words.
const recordSize = 96

var recordSchema = &event.Schema{System: "test", Name: "record", Size: recordSize, Fields: []event.Field{
	{Name: "u8", Type: "u8", Offset: 8, Size: 1},
	{Name: "s8", Type: "s8", Offset: 9, Size: 1, Signed: true},
	{Name: "u16", Type: "u16", Offset: 10, Size: 2},
	{Name: "s16", Type: "s16", Offset: 12, Size: 2, Signed: true},
	{Name: "u32", Type: "u32", Offset: 16, Size: 4},
	{Name: "s32", Type: "s32", Offset: 20, Size: 4, Signed: true},
	{Name: "u64", Type: "u64", Offset: 24, Size: 8},
	{Name: "s64", Type: "s64", Offset: 32, Size: 8, Signed: true},
	{Name: "x", Type: "s64", Offset: 40, Size: 8, Signed: true},
	{Name: "text", Type: "char[16]", Kind: event.Str, Offset: 48, Size: 16},
	{Name: "loc", Type: "char[]", Kind: event.Str, Place: event.DataLoc, Offset: 64, Size: 4, Elem: 1},
}}

type random struct {
	*rand.Rand
	locals  int
	state   bool      // expressions may read the state of a fold
	folds   bool      // there may be some
	flush   bool      // the program runs a flush function, whose key
	key     expr.Node // may be read, if it is not nil
	emitted bool      // the event is emitted by a fold
}

var edges = []int64{0, 1, -1, 2, 3, -3, 7, 10, 63, 64, 127, -128, 255, 256, 32767, 65535, 1 << 20,
	math.MaxInt32, math.MinInt32,
	1 << 32, 1<<32 - 1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, 1 << 62}

func (r *random) number() int64 {
	switch r.Intn(3) {
	case 0:
		return edges[r.Intn(len(edges))]
	case 1:
		return int64(r.Intn(16))
	}
	return int64(r.Uint64()) >> r.Intn(64)
}

var words3 = []string{
	"", "a", "ab", "abc", "kworker/0:1", "kworker", "0123456789abcde", "0123456789abcdef", "ppscript",
	"b",
}

func (r *random) record() []byte {
	b := make([]byte, recordSize)
	for off := 8; off < 48; off += 8 {
		binary.LittleEndian.PutUint64(b[off:], uint64(r.number()))
	}
	// Bytes behind the NUL are not part of a text.
	r.Read(b[48:64])
	if n := copy(b[48:64], words3[r.Intn(len(words3))]); n < 16 {
		b[48+n] = 0
	}
	text := words3[r.Intn(len(words3))]
	n := copy(b[72:], text) + 1
	binary.LittleEndian.PutUint32(b[64:], 72|uint32(n)<<16)
	return b
}

func (r *random) field(kind expr.Kind) expr.Node {
	if r.flush {
		return r.readable(kind)
	}
	for {
		schema := recordSchema
		if r.emitted {
			schema = emittedStream.Schema
		}
		f := &schema.Fields[r.Intn(len(schema.Fields))]
		n := expr.NewField(f, expr.Self)
		if n.Type().Kind == kind {
			return n
		}
	}
}

// A trial is one random pipeline, for both engines.
type trial struct {
	part    *Part
	spec    *agg.Spec // of the group that counts
	group   *agg.Group
	where   *flow.Where
	fold    *fold.Fold
	emitted *fold.Spec // of fold
	// behind works on what fold emits, if it is not nil.
	behind *fold.Fold
	stage  flow.Sink
	text   string

	flushErrors uint64 // of states in the kernel
}

func (r *random) trial() *trial {
	r.locals, r.state = 0, false
	if r.folds && r.Intn(3) == 0 {
		return r.foldTrial()
	}
	as := &agg.Spec{Limit: 256}
	t := &trial{spec: as}
	feed := &Edge{Group: as}
	fn := func(n expr.Node) *flow.Fn { return flow.NewFn([]*expr.Program{expr.Build(n)}, 0) }
	var say []string
	for range r.Intn(4) {
		n := r.num(2)
		if r.Intn(3) == 0 {
			n = r.textOf(2)
		}
		as.Keys = append(as.Keys, fn(n))
		say = append(say, "key "+n.String())
	}
	ops := []*agg.Op{agg.Count, agg.Sum, agg.Min, agg.Max, agg.Avg, agg.Quantile, agg.Hist, agg.LHist}
	for i := range 1 + r.Intn(3) {
		var a agg.Arg
		if i > 0 || r.Intn(2) == 0 {
			n := r.num(3)
			a.Fn = fn(n)
			say = append(say, "arg "+n.String())
		}
		if r.Intn(3) == 0 {
			n := r.bool(2)
			a.Where = fn(n)
			say = append(say, "if "+n.String())
		}
		as.Args = append(as.Args, a)
		hist := false
		for range 1 + r.Intn(4) {
			g := agg.Agg{Op: ops[r.Intn(len(ops))], Arg: i, Q: 0.5, Lo: -50, Hi: 1000, Step: 75}
			isHist := g.Op.Histogram()
			if isHist && hist || a.Fn == nil && g.Op != agg.Count {
				continue
			}
			if a.Fn != nil && r.Intn(3) == 0 {
				if l := r.linear(a.Fn.One().Node); g.Op.Moves(l) {
					g.Linear = l
					say = append(say, g.Op.Name+" of "+l.String())
				}
			}
			hist = hist || isHist
			as.Aggs = append(as.Aggs, g)
		}
	}
	if len(as.Aggs) == 0 {
		as.Aggs = []agg.Agg{{Op: agg.Count}}
	}
	t.group = agg.New(*as)
	t.stage = t.group
	if r.Intn(2) == 0 {
		p := r.bool(3)
		feed.Preds = predsOf(p)
		t.where = &flow.Where{Pred: fn(p), Next: t.group, HeldBack: make([]uint64, 1)}
		t.stage = t.where
		say = append(say, "where "+p.String())
	}
	t.part = partOf([]*Event{{Schema: recordSchema, Label: "record"}}, feed)
	t.text = strings.Join(say, "\n")
	return t
}

// linear is a linear function of n that is moved behind an aggregator; nil if n is no integer of an event.
func (r *random) linear(n expr.Node) agg.Linear {
	if _, constant := n.(*expr.Const); constant || n.Type().Kind != expr.Int {
		return nil
	}
	f, err := expr.NewUnary(expr.OpToFloat, n)
	for range r.Intn(4) {
		if err != nil {
			break
		}
		k := expr.NewFloat([]float64{4, 0.5, -3, 1e9, 7, 1e-3, -0.25}[r.Intn(7)])
		switch op := []expr.Op{expr.OpFAdd, expr.OpFSub, expr.OpFMul, expr.OpFDiv, expr.OpFNeg}[r.Intn(5)]; {
		case op == expr.OpFNeg:
			f, err = expr.NewUnary(op, f)
		case op != expr.OpFDiv && r.Intn(2) == 0:
			f, err = expr.NewBinary(op, k, f)
		default:
			f, err = expr.NewBinary(op, f, k)
		}
	}
	if err != nil {
		panic(err)
	}
	x, l, ok := agg.SplitLinear(f)
	if !ok || x != n {
		panic("not split: " + f.String())
	}
	return l
}

// errors is how many evaluations failed natively.
func (t *trial) errors() uint64 {
	n := t.group.Errors().N
	if t.where != nil {
		n += t.where.Errs.N
	}
	if t.fold != nil {
		n += t.fold.Errors().N
	}
	if t.behind != nil {
		n += t.behind.Errors().N
	}
	return n
}

// spilled is code whose texts lie in scratch memory.
func spilled() *code {
	c := assembler.New()
	c.Spills = 16
	return c
}

func TestRandomPrograms(t *testing.T) {
	h, _ := live(t)
	host := *h
	host.AsRaw = true
	r := &random{Rand: rand.New(rand.NewSource(7)), folds: host.Atomics}
	stream := &event.Stream{Schema: recordSchema}
	refused, compared, folds, rows := map[string]int{}, 0, 0, 0
	var failed uint64
	most := *programs
	if testing.Short() {
		most = min(most, 60)
	}
	tried, large := 0, 0
	begin := testkit.CPUTime(t)
	within := func() bool { return most > usual || tried < least || testkit.CPUTime(t)-begin < limit }
	for ; tried < most && within(); tried++ {
		i, tr := tried, r.trial()
		im, err := Generate(tr.part, &host, &Target{})
		if i%3 == 2 {
			im, err = generate(tr.part, &host, &Target{}, spilled)
		}
		var no *Refusal
		if errors.As(err, &no) {
			refused[no.Why]++
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		got, own := tr.run(t, i, im, stream, r)
		if got == nil {
			large++
			continue
		}
		compared++
		if tr.fold != nil {
			folds++
		}
		rows += got.Len()
		failed += own.Errors
		if t.Failed() {
			break
		}
	}
	t.Logf("%d programs compared, %d with folds, %d rows, %d failed evaluations; %d too large for the "+
		"verifier; refused: %v", compared, folds, rows, failed, large, refused)
	if large > 1+tried/100 {
		t.Errorf("got %d of %d programs too large for the verifier, want at most one of 100", large, tried)
	}
	if compared < tried*3/4 {
		t.Errorf("got %d programs of %d compared, want most", compared, tried)
	}
	// A fifth of many; of the few for which a guest has time, some.
	if r.folds && (folds == 0 || compared >= 200 && folds < compared/6) {
		t.Errorf("got %d folds among %d programs", folds, compared)
	}
}

// run gives random records to the programs of the i-th trial and to its operators, and wants the same. got is
// nil if the programs compute so much that the verifier gives up: ppscript does such work itself.
func (tr *trial) run(t *testing.T, i int, im *Image, stream *event.Stream,
	r *random) (got *agg.Group, own event.Loss) {
	t.Helper()
	run, err := load.Open(&im.Image)
	if errors.Is(err, unix.E2BIG) {
		if diag.HintOf(err) == "" {
			t.Errorf("program %d: %v: got no hint", i, err)
		}
		return nil, own
	} else if err != nil {
		t.Fatalf("program %d: %v\n%s\n%s", i, err, logOf(err), tr.text)
	}
	fd, err := unix.Dup(run.FD(0))
	if err != nil {
		t.Fatal(err)
	}
	prog, err := ebpf.NewProgramFromFD(fd)
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Begin(run); err != nil {
		t.Fatal(err)
	}
	got = agg.New(*tr.spec)
	flush := tr.flusher(run, got)
	var records [][]byte
	for range 40 {
		records = append(records, r.record())
	}
	for k, rec := range records {
		if k == len(records)/2 {
			flush(t)
		}
		tr.stage.Events([]*event.Event{{Stream: stream, Raw: rec}})
		if _, err := prog.Run(&ebpf.RunOptions{Context: rec}); err != nil {
			t.Fatalf("run: %v", err)
		}
	}
	if err := errors.Join(prog.Close(), run.Stop()); err != nil {
		t.Fatal(err)
	}
	flush(t)
	if err := run.Rows(nil, func(_ *agg.Spec, p *agg.Partial) { got.AddPartial(p) }); err != nil {
		t.Fatal(err)
	}
	loss, err := run.Loss()
	if err != nil {
		t.Fatal(err)
	}
	own = loss.Groups[tr.spec]
	own.Add(loss.Joins) // of folds
	own.Errors += tr.flushErrors + got.Errors().N
	if own.Errors != tr.errors() || own.Evicted != 0 || own.Lost != 0 {
		t.Errorf("program %d: got %d errors, %d evicted, want %d, 0\n%s", i, own.Errors, own.Evicted,
			tr.errors(), tr.text)
	}
	if a, b := dump(got, tr), dump(tr.group, tr); a != b {
		t.Errorf("program %d:\n%s\nkernel:\n%s\nnative:\n%s", i, tr.text, a, b)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	return got, own
}

// A program has several globs of texts that may be long: the verifier follows the match of each through
// 4,096 bytes, and all of that is within its bound.
func TestSeveralGlobsOfLongTexts(t *testing.T) {
	h, _ := live(t)
	host := *h
	host.AsRaw = true
	var loc *event.Field
	for i := range recordSchema.Fields {
		if recordSchema.Fields[i].Place == event.DataLoc {
			loc = &recordSchema.Fields[i]
		}
	}
	as := &agg.Spec{Limit: 256}
	for i, glob := range []string{"k*[n-p]ke?", "*a*b", "[!a-f]*[0-9]?x"} {
		n := must(expr.NewBinary(expr.OpGlob, expr.NewField(loc, expr.Self), expr.NewStr(glob)))
		as.Args = append(as.Args, agg.Arg{Where: flow.NewFn([]*expr.Program{expr.Build(n)}, 0)})
		as.Aggs = append(as.Aggs, agg.Agg{Op: agg.Count, Arg: i})
	}
	part := partOf([]*Event{{Schema: recordSchema, Label: "record"}}, &Edge{Group: as})
	im, err := Generate(part, &host, &Target{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := load.Open(&im.Image)
	if err != nil {
		t.Fatalf("%v\n%s", err, logOf(err))
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
}

// Linear functions of integers of every type, behind each aggregator that programs have: 20 of them in a
// program.
func TestLinearFunctionsInPrograms(t *testing.T) {
	h, _ := live(t)
	host := *h
	host.AsRaw = true
	r := &random{Rand: rand.New(rand.NewSource(36))}
	stream := &event.Stream{Schema: recordSchema}
	functions, each, compared := 2000, 20, 0
	if testing.Short() {
		functions = 100
	}
	for i := range functions / each {
		as := &agg.Spec{Limit: 256}
		var say []string
		for range each {
			x := r.field(expr.Int)
			l := r.linear(x)
			var some bool
			for _, op := range []*agg.Op{agg.Sum, agg.Avg, agg.Min, agg.Max, agg.Quantile} {
				if op.Moves(l) {
					as.Aggs = append(as.Aggs, agg.Agg{Op: op, Arg: len(as.Args), Q: 0.5, Linear: l})
					some = true
				}
			}
			if some {
				as.Args = append(as.Args, agg.Arg{Fn: flow.NewFn([]*expr.Program{expr.Build(x)}, 0)})
				say = append(say, x.String()+": "+l.String())
				compared++
			}
		}
		tr := &trial{spec: as, group: agg.New(*as), text: strings.Join(say, "\n"),
			part: partOf([]*Event{{Schema: recordSchema, Label: "record"}}, &Edge{Group: as})}
		tr.stage = tr.group
		im, err := Generate(tr.part, &host, &Target{})
		if err != nil {
			t.Fatalf("program %d: %v\n%s", i, err, tr.text)
		}
		if got, _ := tr.run(t, i, im, stream, r); got == nil {
			t.Fatalf("program %d is too large for the verifier\n%s", i, tr.text)
		} else if t.Failed() {
			return
		}
	}
	if t.Logf("%d functions compared", compared); compared < functions {
		t.Errorf("got %d functions compared, want %d", compared, functions)
	}
}

// dump is the rows of a group, sorted. A quantile is shown as its bucket: the
// native engine knows the values themselves as long as they are few.
func dump(g *agg.Group, tr *trial) string {
	var lines []string
	keys := len(tr.spec.Keys)
	for _, row := range g.Rows() {
		var b strings.Builder
		for i, v := range row {
			a := agg.Agg{}
			if i >= keys {
				a = tr.spec.Aggs[i-keys]
			}
			switch {
			case i >= keys && a.Op == agg.Quantile && v.Kind != event.None:
				number, _ := v.Number()
				size, negative := number.Magnitude()
				fmt.Fprintf(&b, " q%v%d", negative, agg.Bucket(size))
			case i >= keys && a.Op.Histogram():
			default:
				fmt.Fprintf(&b, " %q", v.String())
			}
		}
		lines = append(lines, b.String())
	}
	for i, a := range tr.spec.Aggs {
		if a.Op.Histogram() {
			for _, h := range g.Histograms(i) {
				lines = append(lines, fmt.Sprintf("hist %d %v %v", i, h.Key, h.Buckets))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
