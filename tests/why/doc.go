// Package why proves where ppscript says that time went: programs whose causes are known measure themselves,
// and its breakdown of their spans is compared with that.
package why
