// Package dso opens the files with the code of processes: executables and
// libraries, also in containers, of ended programs, and deleted files.
//
// A process that lived for a millisecond leaves samples and a mapping record; to
// name its functions, the file must be found afterwards. So runtime/target/task
// asks a Store for the file of a mapping when the record comes, and the Store
// keeps the file open. It has each file once, by device and inode and by
// build-id, since the images of a hundred containers may have the same library.
// At most Options.MaxOpen files are open; beyond that the Store closes the file
// that was not mapped for longest, and opens it again by its path when it is
// read. Tables made from files are kept in a Cache.
//
// runtime/stack/symbol and runtime/stack/unwind read the files. An Image is the ELF file
// with the functions that both need: the conversion of addresses to file offsets, and
// sections. Debug finds the separate file with the symbols of a distribution's program.
//
// The package keeps no symbols and no unwind tables. It trusts no file: every
// size is checked against the file before memory is allocated.
package dso
