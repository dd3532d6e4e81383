// Package sql keeps events as rows of SQLite tables and answers questions
// about them.
//
// Plan describes the tables (Table) and has a query checked before anything is
// opened (Check); session opens the database, has rows put in (Rows) and shows
// the query's answers (DB.Query).
//
// SQLite's C is translated to Go by modernc.org/sqlite. This package calls the
// translated functions themselves and not the database/sql driver around them:
// a row goes in without an allocation, several at a time, in an eighth of the
// time that single INSERTs through the driver take (see BenchmarkInsert), and
// the authorizer tells which columns a query reads, so that only those are
// filled. Everything unsafe about it is in engine.go.
//
// A database is used by one goroutine at a time.
package sql
