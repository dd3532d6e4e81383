// Package tiers tests that per-event code gives the same result wherever it
// runs: in the kernel's filter, natively, interpreted. The random differential
// tests of native and interpreted code are beside runtime/script/frontend; here are
// those that need the kernel.
package tiers
