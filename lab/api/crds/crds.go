// Package crds holds the custom resource definitions generated from package
// v1beta2.
package crds

import "embed"

// Files holds one YAML file per kind.
//
//go:embed *.yaml
var Files embed.FS
