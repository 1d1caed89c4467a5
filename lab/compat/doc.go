// Package compat applies a folder of manifests that were written for another
// RKE2 provider, Cluster API Provider RKE2, to a laboratory's management
// cluster, and tells for each file whether it is accepted and whether anything
// that runs would be replaced.
//
// The API server, Cluster API's core with its webhooks and ClusterClass
// controller, kubectl and Drover are real. Infrastructure is not: its kinds are
// accepted as they come (stub definitions), its clusters get an endpoint, and
// its machines never start. So each control plane makes its first Machine with
// its bootstrap data and then waits, and nothing may make it change its mind.
package compat
