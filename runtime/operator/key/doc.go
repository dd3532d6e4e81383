// Package key maps the keys of groups, joins and folds to dense row numbers.
//
// A caller that keeps state per key has it in slices indexed by row, so that a look-up
// is one probe and state of equal kind lies together. Rows of deleted keys
// are used again. Tables never allocate per event once they have grown, and
// never hold more than their limit of keys: at the limit Insert refuses, and
// the caller counts or evicts.
package key

// None is the row of a key that is not there, or could not be inserted.
const None int32 = -1

// DefaultLimit bounds the keys of a table unless the plan says otherwise.
const DefaultLimit = 1 << 20
