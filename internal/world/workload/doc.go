// Package workload reaches the workload cluster through Cluster API's
// connection cache. Reads are live, not from a cache of objects: a cache goes
// on answering from memory after the connection is lost, and what is decided
// here must not rest on that. Every call has a deadline.
package workload
