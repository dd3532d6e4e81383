// Package key maps the keys of groups, joins and folds to dense row numbers.
//
// A caller that keeps state per key has it in slices indexed by row, so that a look-up
// is one probe and state of equal kind lies together. Rows of deleted keys are used
// again. A table that has grown does not allocate per event. It never holds more keys
// than its limit: then Insert refuses, and the caller counts the event or evicts a
// key.
package key

// None is returned in place of a row if the key is not in the table, or could
// not be inserted.
const None int32 = -1

// DefaultLimit bounds the keys of a table unless the plan says otherwise.
const DefaultLimit = 1 << 20
