// Package version reads RKE2 release names such as v1.36.3+rke2r1, puts them in order and answers the questions a
// control plane has about a step from one release to another.
//
// Semantic versioning ignores build metadata, so it puts +rke2r1 and +rke2r2 level. RKE2 does not: a later rN is a
// later release of the same Kubernetes version, and r10 comes after r2. That is why RKE2 names need an order of their
// own.
package version
