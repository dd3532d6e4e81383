// Package parquet writes the results of a run as Parquet files, a format of typed columns
// that DuckDB, pandas and others read. Each result is a file in one directory.
//
// The encoder is our own, since it needs only a few messages and three encodings;
// with a library for all of Parquet, the program would be a third larger. The format
// is described at https://parquet.apache.org/docs/file-format; the numbers of fields
// are from parquet.thrift.
//
//   - Rows are gathered into groups, each of whose columns is one page, compressed by zstd.
//     So memory has a bound, but for some bytes about each group, which come at the end.
//   - Whole numbers are differences, texts are numbers in a dictionary of their group.
//   - All columns are optional. Columns may come late: the groups before lack their values.
//   - A file is there when it is whole: until then it has another name.
package parquet
