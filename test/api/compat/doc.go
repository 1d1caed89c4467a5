// Package compat holds only tests. They compare the generated CustomResourceDefinitions with the API that existing
// RKE2 manifests are written for, so that no field, value or object that is valid there becomes invalid here.
//
// The tests are not in the API's own module because go test notices changes only to files of the module it tests, and
// the CRDs lie outside of that one.
//
// testdata has one listing per kind and version: the OpenAPI schema of the CRDs of rancher/cluster-api-provider-rke2 at
// c8a3286 (2026-08-19), flattened to one property per line and sorted by path:
//
//	path|type|required|constraints
//
// A path starts with a dot; [] stands for the items of an array and {} for the values of a map. The type is None for
// int-or-string. The third column is the word required or empty. Constraints are name=value pairs joined by "; ".
package compat
