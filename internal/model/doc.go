// Package model holds the plain values that the planner reads and writes: a
// Snapshot of what was observed, and the Decision that follows from it.
//
// The package imports nothing but the standard library, and no value in it
// holds a client, an API pointer or a function. A Snapshot can therefore be
// printed, compared, stored and replayed.
package model
