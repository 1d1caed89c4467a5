package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/labclient"
	"github.com/drover-project/drover/lab/internal/manifest"
)

// downTimeout bounds the end of a lab, which takes about a second.
const downTimeout = time.Minute

type upOptions struct {
	provider  string
	nodes     int
	manifests []string
	wait      bool
	timeout   time.Duration
}

func newUpCommand(dir *string) *cobra.Command {
	var o upOptions
	c := &cobra.Command{
		Use:   "up",
		Short: "Start a lab in the background and apply manifests to it",
		Long:  "Starts a lab and returns when its management cluster, Cluster API and the provider are ready and\nthe manifests are applied. The lab goes on until `lab down`.",
		Example: "  lab up -f lab/manifests/three-servers.yaml\n" +
			"  lab up --provider none\n" +
			"  lab up --nodes 4\n" +
			"  lab kubectl get machines -A -w",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.nodes > 0 && !cmd.Flags().Changed("provider") {
				o.provider = labclient.NoProvider
			}
			return up(cmd, *dir, o)
		},
	}
	c.Flags().StringVar(&o.provider, "provider", "drover", "provider under test: a name in bin/providers, the path of a folder (with a slash), or none")
	c.Flags().IntVar(&o.nodes, "nodes", 0, "nodes of the management cluster, one pod each; with any, nothing of Cluster API is installed (clusterctl init does that)")
	c.Flags().StringArrayVarP(&o.manifests, "filename", "f", nil, "manifest to apply: a file, a folder or - (repeatable)")
	c.Flags().BoolVar(&o.wait, "wait", false, "wait until every Cluster of the manifests is available with all its machines")
	c.Flags().DurationVar(&o.timeout, "timeout", 15*time.Minute, "how long --wait waits")
	return c
}

func up(cmd *cobra.Command, dir string, o upOptions) error {
	objects, err := checkedManifests(cmd, o)
	if err != nil {
		return err
	}
	p := newProgress(cmd.OutOrStdout())
	lab, err := labclient.Start(cmd.Context(), labclient.Options{Dir: dir, Provider: o.provider, Nodes: o.nodes, Step: p.line})
	if err != nil {
		return err
	}
	if len(objects) > 0 {
		p.line(fmt.Sprintf("applying %d objects", len(objects)))
		if err := lab.Apply(cmd.Context(), objects); err != nil {
			// A lab without what was asked for is a half start.
			return errors.Join(err, end(cmd.Context(), lab))
		}
	}
	p.line("ready")
	if o.wait {
		return waitForClusters(cmd.Context(), lab, objects, o.timeout, p)
	}
	_, _ = fmt.Fprintln(cmd.OutOrStdout(), "Use `lab kubectl ARGS…`, `lab machines`, `lab kubectl --cluster NAME ARGS…`; end it with `lab down`.")
	return nil
}

// checkedManifests reads the manifests and refuses kinds that the lab will not know.
func checkedManifests(cmd *cobra.Command, o upOptions) ([]manifest.Object, error) {
	objects, err := manifest.Load(o.manifests, cmd.InOrStdin())
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	dirs, err := labclient.ProviderDirs(o.provider)
	if err != nil {
		return nil, err
	}
	kinds, err := manifest.KnownKinds(dirs...)
	if err != nil {
		return nil, err
	}
	return objects, kinds.Check(objects)
}

// end ends a lab also when ctx is over.
func end(ctx context.Context, lab *labclient.Lab) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
	defer cancel()
	return lab.Down(ctx, true)
}

func waitForClusters(ctx context.Context, lab *labclient.Lab, objects []manifest.Object, timeout time.Duration, p *progress) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, o := range objects {
		if o.GetKind() != "Cluster" {
			continue
		}
		key := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.GetName()}
		if key.Namespace == "" {
			key.Namespace = "default"
		}
		p.line("waiting for Cluster " + key.String())
		if err := lab.WaitAvailable(ctx, key, p.line); err != nil {
			return err
		}
		p.line("Cluster " + key.String() + " is available")
	}
	return nil
}
