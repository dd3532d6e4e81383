package session

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/sql"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"
)

// This file delivers SQL results: it opens the database, and shows the answers of its queries at
// the end of each interval. SQL itself is in runtime/operator/sql.

// A database delivers the results of one sql(...) of a script.
type database struct {
	plan.NoDelivery
	to       *results
	services func() *expr.Services
	queryEnd func() func() error // makes the check by which a query that begins now has to stop

	spec  *plan.Database
	db    *sql.DB
	plain *sql.DB // a second database for comparison; nil unless Verify
	run   *plan.DatabaseRun
	rows  []*sql.Rows
}

// Open opens the database before events are opened, so that a file that cannot
// be written is an error early.
func (d *database) Open(_ context.Context, op plan.Operator) error {
	d.spec = op.(*plan.DatabaseOp).Spec
	cfg, path := d.to.cfg, sql.Memory
	if d.spec.File != "" && !cfg.Options.Show.NoFiles {
		path = d.spec.File
		if err := cfg.permit(writing(path, path)); err != nil {
			return err
		}
		if err := outfile.Writable(path); err != nil {
			return databaseError(path, err)
		}
	}
	var err error
	most := cfg.Options.Limits.budget.Share(2, 1, sql.MemoryLimit)
	if d.db, err = sql.OpenWithin(path, most); err != nil {
		return databaseError(path, err)
	}
	switch {
	case !d.spec.Verify:
	case path != sql.Memory:
		d.to.msgs.say("--verify compares databases in memory, and is left out: rows go to %s", path)
	default:
		if d.plain, err = sql.OpenWithin(sql.Memory, most); err != nil {
			return databaseError(sql.Memory, err)
		}
	}
	return nil
}

func databaseError(path string, err error) error {
	return diag.FileError("open database", path, err).
		OrHint("give a new file, or a database of SQLite, in a directory that you may write to")
}

// Begin connects the database with the operator that fills it.
func (d *database) Begin(_ context.Context, op plan.Running) error {
	d.run = op.(*plan.DatabaseRun)
	services := d.services()
	f := sql.Functions{
		Ksymbol:       services.Ksym,
		KsymbolOffset: services.KsymOffset,
		Syscall:       services.SyscallName,
		Comm:          services.Comm,
		Schemas:       map[string]*event.Schema{},
	}
	for _, t := range d.run.Tables {
		f.Schemas[t.Name] = t.Schema
	}
	for _, db := range d.both() {
		if err := errors.Join(db.Create(d.tables(), time.Now().Unix()), db.Define(f)); err != nil {
			return databaseError(d.spec.File, err)
		}
	}

	for _, t := range d.run.Tables {
		var err error
		if t.Rows, err = d.db.Rows(&t.Table, false); err != nil {
			return databaseError(d.spec.File, err)
		}
		d.rows = append(d.rows, t.Rows)
		if d.plain == nil {
			continue
		}
		all := t.Table
		all.Columns = slices.Clone(t.Columns)
		for i := range all.Columns {
			all.Columns[i].Unused = false
		}
		if t.Plain, err = d.plain.Rows(&all, true); err != nil {
			return err
		}
		d.rows = append(d.rows, t.Plain)
	}
	return nil
}

// both returns the database, and the one for comparison if there is one.
func (d *database) both() []*sql.DB {
	var list []*sql.DB
	for _, db := range []*sql.DB{d.db, d.plain} {
		if db != nil {
			list = append(list, db)
		}
	}
	return list
}

func (d *database) tables() []*sql.Table {
	var list []*sql.Table
	for _, t := range d.run.Tables {
		list = append(list, &t.Table)
	}
	return list
}

// Elsewhere implements plan.Delivery: rows go to the database.
func (*database) Elsewhere() bool { return true }

// ShowsLoss implements plan.Delivery: answers are shown with the loss.
func (d *database) ShowsLoss() bool { return true }

// Tick ends an interval: it shows the query's answers for the rows since the
// last Tick, and deletes the rows. So a file has the rows of the last interval
// at the end; without a query it keeps all rows.
func (d *database) Tick(t *plan.Interval) error {
	if err := d.settle(); err != nil {
		return err
	}
	loss := d.to.missing(t, event.Loss{Dropped: d.db.Dropped()})
	meta := func(name, title string) result.Meta { return t.Meta(name, title, loss) }
	if d.spec.Query == "" {
		return d.to.table(d.inserts(meta))
	}
	for _, db := range d.both() {
		db.Until(d.queryEnd())
	}
	if err := d.db.Index(d.tables()); err != nil {
		return queryError(d.spec.Query, err)
	}
	var answers []*result.Table
	err := d.db.Query(d.spec.Query, func(t *result.Table) error {
		name := d.run.Name
		if n := len(answers); n > 0 {
			name += "_" + strconv.Itoa(n+1)
		}
		t.Meta = meta(name, t.Title)
		answers = append(answers, t)
		return d.to.table(t)
	})
	if err != nil {
		return queryError(d.spec.Query, err)
	}
	if d.plain != nil {
		if err := d.verify(answers); err != nil {
			return err
		}
	}
	if t.Final {
		return nil
	}
	for _, t := range d.run.Tables {
		t.Reset()
	}
	for _, db := range d.both() {
		if err := db.Clear(d.tables()); err != nil {
			return err
		}
	}
	return nil
}

// settle writes all waiting rows, and the metadata about them, into the
// databases.
func (d *database) settle() error {
	for _, rows := range d.rows {
		rows.Flush()
		if err := rows.Err(); err != nil {
			return queryError(d.spec.File, err)
		}
	}
	for _, db := range d.both() {
		for _, t := range d.run.Tables {
			if err := db.NoteEvents(t.Name, t.Count, int64(t.First), int64(t.Last)); err != nil {
				return err
			}
			if !t.About.Stack {
				continue
			}
			if err := d.nameStacks(db, t.Name); err != nil {
				return err
			}
		}
		if err := db.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// nameStacks adds new stacks of a table's rows to the table of stacks.
func (d *database) nameStacks(db *sql.DB, table string) error {
	if d.to.stacks == nil {
		return nil
	}
	ids, err := db.Numbers("SELECT DISTINCT _stack FROM " + sql.Quote(table) +
		" WHERE _stack NOT IN (SELECT id FROM stacks)")
	if err != nil {
		return err
	}
	for _, id := range ids {
		frames, _ := d.to.stacks.Frames(nil, stack.ID(id))
		if err := db.Stack(id, render.StackText(frames)); err != nil {
			return err
		}
	}
	return nil
}

func queryError(query string, err error) error {
	return (&diag.Error{Op: "sql", Subject: query, Cause: err}).
		WithHint("ask about the rows of one interval at a time: -i 1s; or for fewer: -e 'EVENT/FILTER/'")
}

// inserts makes the result for a file without a query: the number of rows of
// each table.
func (d *database) inserts(meta func(name, title string) result.Meta) *result.Table {
	t := &result.Table{Columns: []result.Column{
		{Name: "table", Kind: result.KeyColumn, Left: true, Width: 16},
		{Name: "inserts", Width: 12},
	}}
	total := uint64(0)
	for _, x := range d.run.Tables {
		t.Rows = append(t.Rows, []event.Value{event.StrOf(x.Name), event.UintOf(x.Total)})
		total += x.Total
	}
	t.Meta = meta(d.run.Name, "Total Inserts: "+strconv.FormatUint(total, 10))
	return t
}

// verify runs the query in the second database and reports differences of the
// answers.
func (d *database) verify(answers []*result.Table) error {
	n := 0
	err := d.plain.Query(d.spec.Query, func(t *result.Table) error {
		if n++; n > len(answers) {
			return nil
		}
		if why := result.Differ(answers[n-1], t); why != "" {
			return diag.Errorf(diag.Run, "verify", t.Title, "%s", why).
				WithHint("report it: rows that were put in one by one answer something else")
		}
		return nil
	})
	if err == nil {
		d.to.msgs.verbose(1, "--verify: "+strconv.Itoa(n)+" answers are the same")
	}
	return err
}

// Close closes the database, also if it could not be opened.
func (d *database) Close() error {
	for _, rows := range d.rows {
		rows.Close()
	}
	var errs []error
	for _, db := range d.both() {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}
