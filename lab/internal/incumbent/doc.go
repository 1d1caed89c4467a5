// Package incumbent builds a cluster the way the provider does that Drover takes clusters over from: the same objects,
// names, owners, annotations, hooks, field managers, Secrets and conditions, and bootstrap data of the same shape, on
// which the lab's machines boot. It plays that provider's part step by step beside Cluster API's core, and then stops,
// as if its Deployment had been deleted.
//
// It is written from a description of what that provider (cluster-api-provider-rke2 0.25) leaves behind, and it is no
// provider: it knows the settings that the lab's stories use, refuses others, and repairs nothing.
package incumbent
