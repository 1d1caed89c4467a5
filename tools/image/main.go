// Command image is being written.
package main

import _ "github.com/google/go-containerregistry/pkg/v1/layout"

func main() {}
