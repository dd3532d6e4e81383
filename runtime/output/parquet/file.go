package parquet

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

// Bounds of a group of rows, which is kept in memory until it is written.
const (
	maxRows      = 1 << 16
	maxCells     = 1 << 20
	maxWords     = 1 << 16
	maxWordBytes = 4 << 20
)

const magic = "PAR1"

// A file is written row by row: the values of a row are added to columns, then next ends
// the row.
type file struct {
	w       io.Writer
	zstd    *zstd.Encoder
	at      int64
	columns []*column
	names   map[string]bool
	row     int // number of the row in the group
	total   int64
	groups  []int // the number of rows of each written group
	err     error // the first error of w
	page    []byte
	packed  []byte
	message message
}

func newFile(w io.Writer, z *zstd.Encoder) *file {
	f := &file{w: w, zstd: z, names: map[string]bool{}}
	f.write([]byte(magic))
	return f
}

func (f *file) write(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
	}
	f.at += int64(len(b))
}

// column adds a column. A second column of the same name is called NAME_2.
func (f *file) column(name string) *column {
	c := &column{name: name, born: len(f.groups)}
	for n := 2; f.names[c.name]; n++ {
		c.name = name + "_" + strconv.Itoa(n)
	}
	f.names[c.name] = true
	f.columns = append(f.columns, c)
	return c
}

// next ends a row.
func (f *file) next() error {
	f.row++
	full := f.row >= maxRows || f.row*len(f.columns) >= maxCells
	for _, c := range f.columns {
		full = full || c.words.full()
	}
	if full {
		f.group()
	}
	return f.err
}

// group writes the current group of rows.
func (f *file) group() {
	if f.row == 0 {
		return
	}
	for _, c := range f.columns {
		f.chunk(c, f.row)
		c.clear()
	}
	f.groups = append(f.groups, f.row)
	f.total += int64(f.row)
	f.row = 0
}

// chunk writes a column's values of a group with so many rows.
func (f *file) chunk(c *column, rows int) {
	x := chunk{values: rows, nulls: rows - len(c.nums) - len(c.index)}
	if c.class == integer || c.class == moment {
		x.least, x.most = c.bounds()
	}
	if len(c.index) > 0 {
		x.dictAt = f.at
		f.page = append(f.page[:0], c.words.all...)
		f.put(&x, pageDictionary, len(c.words.of), plainEncoding)
	}
	x.at = f.at
	if n := rows - len(c.present); n > 0 {
		c.present = append(c.present, make([]byte, n)...)
	}
	f.page = appendHybrid(append(f.page[:0], 0, 0, 0, 0), c.present, 1)
	binary.LittleEndian.PutUint32(f.page, uint32(len(f.page)-4))
	var encoding int
	f.page, encoding = c.values(f.page)
	f.put(&x, pageData, rows, encoding)
	c.chunks = append(c.chunks, x)
}

// Types of pages.
const (
	pageData       = 0
	pageDictionary = 2
)

// put writes the page in f.page with its header.
func (f *file) put(x *chunk, kind, values, encoding int) {
	f.packed = f.zstd.EncodeAll(f.page, f.packed[:0])
	m := &f.message
	m.reset()
	m.int32(1, kind)
	m.int32(2, len(f.page))
	m.int32(3, len(f.packed))
	if kind == pageData {
		m.open(5)
		m.int32(1, values)
		m.int32(2, encoding)
		m.int32(3, rleEncoding) // encoding of levels
		m.int32(4, rleEncoding)
	} else {
		m.open(7)
		m.int32(1, values)
		m.int32(2, encoding)
	}
	m.shut()
	head := m.end()
	x.size += int64(len(head) + len(f.page))
	x.packed += int64(len(head) + len(f.packed))
	f.write(head)
	f.write(f.packed)
}

// A note is an entry of the file's key-value metadata.
type note struct{ key, value string }

// close writes the last group and the footer.
func (f *file) close(notes []note) error {
	f.group()
	for _, c := range f.columns {
		f.before(c)
	}
	foot := f.footer(append(notes, f.about()...))
	f.write(foot)
	f.write(binary.LittleEndian.AppendUint32(nil, uint32(len(foot))))
	f.write([]byte(magic))
	return f.err
}

// before writes empty chunks for the groups that were written before the column was
// added.
func (f *file) before(c *column) {
	since := c.chunks
	c.chunks = nil
	for _, rows := range f.groups[:c.born] {
		f.chunk(c, rows)
		c.clear()
	}
	c.chunks = append(c.chunks, since...)
}

// about returns notes with the units of the columns, and the names of the keys.
func (f *file) about() []note {
	units, keys := map[string]string{}, []string{}
	for _, c := range f.columns {
		if c.unit != "" {
			units[c.name] = c.unit
		}
		if c.key {
			keys = append(keys, c.name)
		}
	}
	return []note{{"units", asJSON(units)}, {"keys", asJSON(keys)}}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(b)
}

// physical returns the type in which the values of a column are stored.
func (c *column) physical() int {
	const boolean, int64, double, byteArray = 0, 2, 5, 6
	return [classes]int{none: byteArray, integer: int64, moment: int64, real: double, truth: boolean,
		text: byteArray}[c.class]
}

// footer encodes the description of the file: its columns, and the offsets of
// their chunks.
func (f *file) footer(notes []note) []byte {
	m := &f.message
	m.reset()
	m.int32(1, 2) // the version
	m.list(2, isStruct, len(f.columns)+1)
	m.inside()
	m.text(4, "schema")
	m.int32(5, len(f.columns))
	m.shut()
	for _, c := range f.columns {
		c.describe(m)
	}
	m.int64(3, f.total)
	m.list(4, isStruct, len(f.groups))
	for i, rows := range f.groups {
		f.describe(m, i, rows)
	}
	m.list(5, isStruct, len(notes))
	for _, n := range notes {
		m.inside()
		m.text(1, "ppscript."+n.key)
		m.text(2, n.value)
		m.shut()
	}
	m.text(6, "ppscript")
	m.list(7, isStruct, len(f.columns)) // bounds are ordered as defined by the types
	for range f.columns {
		m.inside()
		m.empty(1)
		m.shut()
	}
	return slices.Clone(m.end())
}

// describe adds a column to the schema.
func (c *column) describe(m *message) {
	const optional, utf8, uint64bits = 1, 0, 14
	m.inside()
	m.int32(1, c.physical())
	m.int32(3, optional)
	m.text(4, c.name)
	switch {
	case c.class == text || c.class == none:
		m.int32(6, utf8)
		m.open(10)
		m.empty(1)
		m.shut()
	case c.class == moment:
		m.open(10)
		m.open(8)
		m.bool(1, true) // in UTC
		m.open(2)
		m.empty(3) // ns
		m.shut()
		m.shut()
		m.shut()
	case c.class == integer && c.large:
		m.int32(6, uint64bits)
		m.open(10)
		m.open(10)
		m.byte(1, 64)
		m.bool(2, false) // unsigned
		m.shut()
		m.shut()
	}
	m.shut()
}

// describe adds a group of rows.
func (f *file) describe(m *message, i, rows int) {
	size, packed := int64(0), int64(0)
	m.inside()
	m.list(1, isStruct, len(f.columns))
	for _, c := range f.columns {
		x := &c.chunks[i]
		m.inside()
		m.int64(2, 0)
		m.open(3)
		x.describe(m, c)
		m.shut()
		m.shut()
		size, packed = size+x.size, packed+x.packed
	}
	m.int64(2, size)
	m.int64(3, int64(rows))
	m.int64(6, packed)
	m.shut()
}

func (x *chunk) describe(m *message, c *column) {
	const codecZstd = 6
	encodings := []int{plainEncoding, rleEncoding}
	switch {
	case x.dictAt != 0:
		encodings = append(encodings, dictEncoding)
	case c.class == integer || c.class == moment:
		encodings = append(encodings, deltaEncoding)
	}
	m.int32(1, c.physical())
	m.list(2, isInt32, len(encodings))
	for _, e := range encodings {
		m.buf = appendZigzag(m.buf, int64(e))
	}
	m.list(3, isBytes, 1)
	m.element(c.name)
	m.int32(4, codecZstd)
	m.int64(5, int64(x.values))
	m.int64(6, x.size)
	m.int64(7, x.packed)
	m.int64(9, x.at)
	if x.dictAt != 0 {
		m.int64(11, x.dictAt)
	}
	m.open(12)
	m.int64(3, int64(x.nulls))
	if (c.class == integer || c.class == moment) && x.nulls < x.values {
		m.text(5, string(binary.LittleEndian.AppendUint64(nil, uint64(x.most))))
		m.text(6, string(binary.LittleEndian.AppendUint64(nil, uint64(x.least))))
	}
	m.shut()
}
