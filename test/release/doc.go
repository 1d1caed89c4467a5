// Package release tests what a release consists of: the manifests, installed
// on a real API server with the managers running as they say, the cluster
// templates and the container image.
package release
