// Package probe watches a laboratory from outside while a story runs, and writes what it sees into a timeline.Log.
//
// It holds clients that write and read through the load balancer, watches on the management and the workload cluster,
// a poll of etcd's own member list, etcd's own count of MemberRemove calls, and a meter of the memory of all processes.
// A probe never changes what it observes, except for the writer's ConfigMaps.
package probe
