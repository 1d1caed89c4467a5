// Package etcd talks to the etcd members of a workload cluster: it asks them
// who the members are and how they do, moves the leadership and removes a
// member.
//
// Connections go through a Dialer, in production a port-forward to the static
// pod of the member. The member's certificate is verified against the
// cluster's etcd authority; the client certificate is made for this purpose,
// lives for hours, and has a key of its own. Connections are kept for a short
// while and never shared between clusters.
package etcd
