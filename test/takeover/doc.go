// Package takeover tests, against a real API server, that clusters made by
// another provider or moved from another management cluster come under Drover
// without a server being replaced, and that the former provider would find its
// way around in them again.
package takeover
