// Package sim is a model of everything around the planner: Cluster API's core,
// infrastructure, hosts, kubelets, RKE2, etcd, users and failures. An explorer
// walks every state the model can reach and holds the planner, the code that
// runs in the product, to the invariants of the design.
//
// A World is one state. Steps are what the surroundings may do next; a Choice
// is what the planner decides on what it sees of the World. What it sees may be
// one step old, source by source, and what it does is checked again against the
// World as it is, exactly as package act checks it.
//
// What the model leaves out, and why, stands in docs/safety.md.
package sim
