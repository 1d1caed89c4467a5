// Package story holds the laboratory's stories: each starts its own laboratory, plays one piece of a cluster's life on
// real parts, measures it, and says PASS or FAIL for every promise with the value that was measured.
//
// A story is one file with one function. What they share is small: Run (progress, checks, figures), Spec (the
// manifests of a cluster), Cluster (access and waiting) and the probes of package probe.
package story
