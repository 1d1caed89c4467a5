package main

import (
	"maps"

	"github.com/drover-project/drover/lab/internal/cri"
	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/host"
	"github.com/drover-project/drover/lab/internal/kubenode"
	"github.com/drover-project/drover/lab/internal/sandbox"
	"github.com/drover-project/drover/lab/internal/standin"
)

// applets are the hidden commands by name.
var applets = collect(
	sandbox.Applets,
	guest.Applets,
	map[string]func([]string) int{
		host.Applet: host.Main,
		cri.Applet:  cri.Main,

		kubenode.Applet: kubenode.Main,
		"rke2":          standin.Main,
	},
)

func collect(sets ...map[string]func([]string) int) map[string]func([]string) int {
	all := map[string]func([]string) int{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	return all
}
