package tracefs

import (
	"bytes"
	"strings"
	"sync"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
)

// This file renders events like the kernel does. It parses the print fmt, which
// is the argument list of a C printf call, and compiles each argument once.
//
// Some parts of a print fmt cannot be computed outside of the kernel:
//
//   - names of enumerators: Options.Enums, else the entry of the table is
//     left out and its value prints as hex;
//   - kernel variables (vmemmap_base, jiffies) and pointers to objects (%pd):
//     that argument is "?", the others are right;
//   - kernel functions and members of kernel structures: the whole event is
//     printed as name=value, because its text would make no sense.
//
// A value that a short or damaged record lacks is "?" too.

// unknownText is printed for a text that cannot be computed.
const unknownText = "?"

// A printer renders the events of one schema. mu guards its scratch memory.
type printer struct {
	schema *event.Schema
	opt    *Options
	// reason is why the print fmt cannot be evaluated; ops is then empty.
	reason error
	ops    []op
	tables []table

	mu     sync.Mutex
	frame  expr.Frame
	texts  map[string]string // results of symbolicOf, bounded by maxTexts
	symbol map[string]int    // index in ops by field, for symbolicOf
	runs   map[int][]op      // results of runOf, by field
}

// An opKind selects the code that prints an op.
type opKind uint8

const (
	opLit opKind = iota
	opInt
	opChar
	opText     // a text of the record, or made by a helper
	opTextAddr // an address to text
	opAddress  // %p and other conversions of addresses
	opData     // %pI4 and other conversions of data, with bytes
	opDataAddr // like opData, with the address of data in the record
	opUnknown  // "?"
)

// An op is a piece of the format with its compiled arguments.
type op struct {
	piece
	kind  opKind
	width *expr.Program // nil unless the format has a star
	prec  *expr.Program
	arg   *expr.Program
	field string // the only field that the text depends on, "" if there is none or several
}

// newPrinter compiles a print fmt.
func newPrinter(s *event.Schema, o *Options) *printer {
	p := &printer{schema: s, opt: o, texts: map[string]string{}, symbol: map[string]int{}}
	src := strings.ReplaceAll(s.PrintFmt, "REC->ent.", "REC->common_")
	args, err := c.ParseArgs(src)
	if err != nil {
		p.reason = err
		return p
	}
	format := args[0].(*c.String).Value
	p.compile(parsePieces(strings.TrimRight(format, "\n")), args[1:], src)
	if p.reason != nil {
		p.ops = nil
	}
	return p
}

// compile pairs the conversions with the arguments.
func (p *printer) compile(pieces []piece, args []c.Node, src string) {
	b := newBuilder(p, args, src)
	next := func() c.Node {
		if len(args) == 0 {
			return nil
		}
		n := args[0]
		args = args[1:]
		return n
	}
	for _, pc := range pieces {
		o := op{piece: pc}
		if pc.verb == 0 {
			p.ops = append(p.ops, o)
			continue
		}
		if pc.starWidth {
			o.width = b.number(next())
		}
		if pc.starPrec {
			o.prec = b.number(next())
		}
		first := len(p.tables)
		tree := next()
		o.kind, o.arg = b.argument(&pc.spec, tree)
		o.field = onlyField(&o, tree)
		for i := first; i < len(p.tables); i++ {
			if f := p.tables[i].field; f != "" && o.kind == opText {
				if _, dup := p.symbol[f]; !dup {
					p.symbol[f] = len(p.ops)
				}
			}
		}
		p.ops = append(p.ops, o)
	}
}

// appendText renders an event.
//
// Fast path: no allocation once the frame's scratch has grown.
func (p *printer) appendText(dst []byte, e *event.Event) []byte {
	if p.reason != nil {
		return appendFields(dst, p.schema, e)
	}
	p.mu.Lock()
	p.frame.Reset(e)
	for i := range p.ops {
		dst = p.appendOp(dst, &p.ops[i])
	}
	p.frame.Event = nil
	p.mu.Unlock()
	if p.schema.System == noTracepoints {
		// A text that a user wrote into the trace may have its own line break at
		// the end.
		return bytes.TrimSuffix(dst, []byte("\n"))
	}
	return dst
}

// appendOp renders one piece. If its evaluation fails, it prints "?"; the other
// pieces are not affected.
func (p *printer) appendOp(dst []byte, o *op) []byte {
	dst = append(dst, o.lit...)
	if o.kind == opLit {
		return dst
	}
	f := &p.frame
	s := &o.spec
	if o.width != nil || o.prec != nil {
		with := o.spec // the argument's width must not stay in the op
		s = &with
		if o.width != nil {
			s.setWidth(o.width.Int(f))
		}
		if o.prec != nil {
			s.setPrec(o.prec.Int(f))
		}
	}
	start := len(dst)
	switch o.kind {
	case opInt:
		dst = s.appendInt(dst, uint64(o.arg.Int(f)))
	case opChar:
		dst = s.appendChar(dst, byte(o.arg.Int(f)))
	case opText:
		dst = s.appendText(dst, o.arg.Str(f))
	case opTextAddr:
		dst = p.appendPointed(dst, s, uint64(o.arg.Int(f)))
	case opAddress:
		dst = s.appendAddress(dst, uint64(o.arg.Int(f)), p.opt)
	case opData:
		dst = s.appendData(dst, o.arg.Str(f))
	case opDataAddr:
		if addr := o.arg.Int(f); addr == 0 {
			dst = s.appendString(dst, "(null)")
		} else {
			dst = s.appendData(dst, f.Memory(addr))
		}
	case opUnknown:
		return append(dst, unknownText...)
	}
	if f.Err != nil {
		f.Err = nil
		dst = append(dst[:start], unknownText...)
	}
	return dst
}

// appendPointed prints %s with an address: text in the record, or a string
// constant of the kernel.
func (p *printer) appendPointed(dst []byte, s *spec, addr uint64) []byte {
	if addr == 0 {
		return s.appendString(dst, "(null)")
	}
	if p.opt.Strings != nil {
		if text, ok := p.opt.Strings(addr); ok {
			return s.appendString(dst, text)
		}
	}
	if data := p.frame.Memory(int64(addr)); p.frame.Err == nil {
		return s.appendText(dst, data)
	}
	p.frame.Err = nil
	return appendHexNumber(dst, addr)
}

// maxTexts bounds the texts that symbolicOf caches. A table has up to 200
// names, but there are also combinations of flags and unknown numbers.
const maxTexts = 4096

// symbolicOf renders the argument that prints a field by a table of names.
func (p *printer) symbolicOf(field string, e *event.Event) (string, bool) {
	i, ok := p.symbol[field]
	if !ok || p.reason != nil {
		return "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frame.Reset(e)
	b := p.ops[i].arg.Str(&p.frame)
	if p.frame.Err != nil {
		return "", false
	}
	text, ok := p.texts[string(b)]
	if !ok {
		text = string(b)
		if len(p.texts) < maxTexts {
			p.texts[text] = text
		}
	}
	return text, true
}
