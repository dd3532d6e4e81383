// Package dso opens the files whose code runs: executables and libraries,
// also those of containers, of programs that ended, and deleted ones.
//
// A process that lived for a millisecond leaves samples and a mapping record;
// to name its functions the file must be found afterwards. So runtime/target/task
// asks a Store for the file of a mapping as soon as it hears of it, and the
// Store keeps it: once for each device and inode, and once for each build-id,
// since the same library lies in the images of a hundred containers. At most
// Options.MaxOpen files are open; beyond that the Store closes the file that was
// not mapped for longest, and finds it again by its path when it is read. Tables
// made of files lie in a Cache.
//
// runtime/stack/symbol and runtime/stack/unwind read the files: an Image is the ELF file
// with the parts that both need, addresses to file offsets and sections. Debug
// finds the separate file with the symbols that the distribution took out.
//
// The package keeps no symbols and no unwind tables, and believes no file:
// every size is checked against the file before memory is made for it.
package dso
