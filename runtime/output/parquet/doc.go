// Package parquet writes the results of a run as Parquet files, a format of typed columns
// that DuckDB, pandas and others read. Each result is a file in one directory.
//
// The encoder is our own, since it needs only a few messages and three encodings;
// with a library for all of Parquet, the program would be a third larger. The format
// is described at https://parquet.apache.org/docs/file-format; the numbers of fields
// are from parquet.thrift.
//
//   - Rows are collected in groups. Each column of a group is one page, compressed by zstd. So
//     memory is bounded, except for a few bytes per group that are written at the end.
//   - Whole numbers are encoded as differences, texts as numbers in a dictionary of the group.
//   - All columns are optional. A column may be added late: earlier groups lack its values.
//   - A file has a temporary name until it is complete.
package parquet
