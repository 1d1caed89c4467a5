// Package membership reads the etcd membership of a workload cluster: the
// list as etcd itself holds it, each member's own answer, and the Machine and
// Node each member belongs to.
package membership
