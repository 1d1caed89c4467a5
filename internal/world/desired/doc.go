// Package desired says what the objects of a server should look like: the
// Machine, its infrastructure machine and its RKE2Config. It is the one place
// for this; creating, comparing and updating all use it. The package does no
// I/O.
package desired
