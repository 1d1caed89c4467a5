package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/drover-project/drover/lab/internal/runfolder"
)

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "lab",
		Short:         "A laboratory for Cluster API providers of RKE2",
		Long:          "Runs clusters of RKE2-shaped machines on this computer: real etcd, Kubernetes and Cluster API,\nno Docker, no images, no network. Everything a lab writes lies in one folder.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	var dir string
	root.PersistentFlags().StringVar(&dir, "dir", runfolder.Default, "run folder of the lab")
	root.AddCommand(
		newUpCommand(&dir), newDownCommand(&dir), newStatusCommand(&dir),
		newKubectlCommand(&dir), newMachinesCommand(&dir), newMachineCommand(&dir), newBalancerCommand(&dir), newCompatCommand(),
	)
	root.AddCommand(newManagementCommand(&dir))
	root.AddCommand(storyCommands()...)
	return root
}

// progress prints lines with the seconds since its start in front.
type progress struct {
	out   io.Writer
	start time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out: out, start: time.Now()} }

func (p *progress) line(text string) {
	_, _ = fmt.Fprintf(p.out, "%6.1f s  %s\n", time.Since(p.start).Seconds(), text)
}
