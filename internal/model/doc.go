// Package model holds the plain values that the planner reads and writes: a
// Snapshot of what was observed, and the Decision that follows from it.
//
// The package imports nothing but the standard library, and no value in it
// holds a client, an API pointer or a function. A Snapshot can therefore be
// printed, compared, stored and replayed.
//
// Snapshots and Decisions have an exact JSON form: what is read is what was
// written, to the nanosecond and to the difference between an empty list and
// none. Names are those of the fields; what is left out is false, zero, empty
// or nil. Member IDs are decimal numbers in quotes, because many programs that
// read JSON would round them. An Action has its kind beside its fields.
package model
