// Package tiers tests that per-event code gives the same result wherever it runs:
// in the kernel's filter, natively, or interpreted. The random comparisons of
// native and interpreted code are in runtime/script/frontend; this package has the
// tests that need the kernel.
package tiers
