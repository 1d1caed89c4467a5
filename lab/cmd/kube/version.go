package main

import (
	"fmt"

	"k8s.io/component-base/version"
)

// versionVariable is the environment variable with the version to report.
const versionVariable = "LAB_VERSION"

// chooseVersion makes the Kubernetes parts report the wanted version, so that
// one program can stand for several builds of the same release, such as
// v1.36.3+rke2r1 and v1.36.3+rke2r2. Nothing is wanted: the version that was
// stamped into the program stays.
func chooseVersion(wanted string) error {
	if wanted == "" {
		return nil
	}
	stamped := version.Get().GitVersion
	if err := version.SetDynamicVersion(wanted); err != nil {
		return fmt.Errorf("%s is %q, but this program holds Kubernetes %s: choose a version of that release, such as %s+rke2r1: %w",
			versionVariable, wanted, stamped, stamped, err)
	}
	return nil
}
