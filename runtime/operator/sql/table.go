package sql

import (
	"strconv"
	"strings"

	"ppscript/runtime/event"
)

// A Type is the type of a column.
type Type uint8

const (
	Integer Type = iota
	Text
	Blob
	Real
)

func (t Type) String() string { return [...]string{"INTEGER", "TEXT", "BLOB", "REAL"}[t] }

// A Column is a column of a table of events.
type Column struct {
	Name string
	Type Type
	// Unused says that no query reads the column, which then stays NULL. At least one column of a
	// table is not Unused.
	Unused bool
	// Names returns the name of a value; nil if the values have no names. Unsigned says that the
	// values are numbers of 64 bits without a sign; SQLite has only signed ones.
	Names    func(v event.Value) (name string, ok bool)
	Unsigned bool
}

// A Table is the events of one kind.
type Table struct {
	Name    string
	Columns []Column
	// Index is the column by which queries look rows up, "" for none. The index
	// is made before a query, when all rows are there: one sort costs less than
	// as many insertions into a tree. Time is the column with the time of the
	// events, by which rows of equal Index are sorted in the index.
	Index, Time string
	About       About
}

// About has the cells of a table's row in event_metadata.
type About struct {
	System, Event, Filter string
	ID                    uint64
	Stack                 bool
	MaxStack              int
	Fields                int
	Functions             []string // SQL functions that show its columns
}

// Names lists the columns.
func (t *Table) Names() []string {
	names := make([]string, len(t.Columns))
	for i := range t.Columns {
		names[i] = t.Columns[i].Name
	}
	return names
}

// Quote quotes a name for SQL; it may have any characters.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal writes a text as a literal of SQL.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// create is the CREATE TABLE statement.
func (t *Table) create() string {
	var b strings.Builder
	b.WriteString("CREATE TABLE " + Quote(t.Name) + "(")
	for i := range t.Columns {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(Quote(t.Columns[i].Name) + " " + t.Columns[i].Type.String())
	}
	b.WriteByte(')')
	return b.String()
}

// insert is the INSERT statement for a number of rows.
func (t *Table) insert(rows int) string {
	var names, marks strings.Builder
	for i := range t.Columns {
		if t.Columns[i].Unused {
			continue
		}
		if names.Len() > 0 {
			names.WriteByte(',')
			marks.WriteByte(',')
		}
		names.WriteString(Quote(t.Columns[i].Name))
		marks.WriteByte('?')
	}
	one := "(" + marks.String() + ")"
	return "INSERT INTO " + Quote(t.Name) + "(" + names.String() + ") VALUES " + one +
		strings.Repeat(","+one, rows-1)
}

// metadata and stacks are tables that are always there.
const (
	metadata       = `event_metadata`
	stacks         = `stacks`
	createMetadata = `CREATE TABLE event_metadata(table_name TEXT PRIMARY KEY, event_system TEXT, event_name TEXT,
		event_id INTEGER, filter_expression TEXT, has_stack INTEGER, max_stack INTEGER, field_count INTEGER,
		created_time INTEGER, sample_count INTEGER, first_sample_time INTEGER, last_sample_time INTEGER, function_list TEXT)`
	createStacks = `CREATE TABLE stacks(id INTEGER PRIMARY KEY, frames TEXT)`
)

// Create makes the tables. It replaces tables of the same names that the file already
// has.
func (d *DB) Create(tables []*Table, created int64) error {
	d.tables = tables
	var b strings.Builder
	drop := func(name string) { b.WriteString("DROP TABLE IF EXISTS " + Quote(name) + ";") }
	drop(metadata)
	b.WriteString(createMetadata + ";")
	for _, t := range tables {
		drop(t.Name)
		b.WriteString(t.create() + ";")
		a := &t.About
		b.WriteString("INSERT INTO event_metadata VALUES(" + strings.Join([]string{
			literal(t.Name), literal(a.System), literal(a.Event), strconv.FormatInt(int64(a.ID), 10),
			literal(a.Filter), strconv.FormatInt(event.Bit(a.Stack), 10), strconv.Itoa(a.MaxStack),
			strconv.Itoa(a.Fields), strconv.FormatInt(created, 10), "0", "NULL", "NULL",
			literal(strings.Join(a.Functions, ", ")),
		}, ",") + ");")
	}
	if hasStacks(tables) {
		drop(stacks)
		b.WriteString(createStacks + ";")
	}
	return d.exec(b.String())
}

func hasStacks(tables []*Table) bool {
	for _, t := range tables {
		if t.About.Stack {
			return true
		}
	}
	return false
}

// Clear empties the tables for the next interval.
func (d *DB) Clear(tables []*Table) error {
	var b strings.Builder
	for _, t := range tables {
		if t.Index != "" {
			b.WriteString("DROP INDEX IF EXISTS " + Quote(t.indexName()) + ";")
		}
		b.WriteString("DELETE FROM " + Quote(t.Name) + ";")
	}
	if hasStacks(tables) {
		b.WriteString("DELETE FROM stacks;")
	}
	d.used = 0
	return d.exec(b.String())
}

func (t *Table) indexName() string { return t.Name + "_" + t.Index }

// Index makes the indexes that the tables ask for.
func (d *DB) Index(tables []*Table) error {
	for _, t := range tables {
		if t.Index == "" {
			continue
		}
		columns := Quote(t.Index)
		if t.Time != t.Index {
			columns += "," + Quote(t.Time)
		}
		index := Quote(t.indexName()) + " ON " + Quote(t.Name) + "(" + columns + ")"
		if err := d.exec("CREATE INDEX IF NOT EXISTS " + index); err != nil {
			return err
		}
	}
	return nil
}

// NoteEvents writes to event_metadata how many rows came, and when.
func (d *DB) NoteEvents(table string, rows uint64, first, last int64) error {
	if rows == 0 {
		return nil
	}
	return d.exec("UPDATE event_metadata SET sample_count=" + strconv.FormatUint(rows, 10) +
		",first_sample_time=" + strconv.FormatInt(first, 10) +
		",last_sample_time=" + strconv.FormatInt(last, 10) + " WHERE table_name=" + literal(table))
}

// Stack writes the frames of a stack number to the table of stacks.
func (d *DB) Stack(id int64, frames string) error {
	return d.exec("INSERT OR IGNORE INTO stacks VALUES(" + strconv.FormatInt(id, 10) + "," +
		literal(frames) + ")")
}
