package main

import (
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/control"
	"github.com/drover-project/drover/lab/internal/labclient"
)

func newBalancerCommand(dir *string) *cobra.Command {
	c := &cobra.Command{Use: "balancer", Short: "Disturb the load balancer of a cluster", Args: cobra.NoArgs}
	for _, f := range []struct {
		fault control.Fault
		short string
	}{
		{control.Blackhole, "Take everything and pass nothing on, as if the network lost every packet"},
		{control.Heal, "Pass on again"},
	} {
		var namespace string
		fault := &cobra.Command{
			Use: string(f.fault) + " CLUSTER", Short: f.short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				lab, err := labclient.Attach(*dir)
				if err != nil {
					return err
				}
				return lab.DisturbBalancer(cmd.Context(), client.ObjectKey{Namespace: namespace, Name: args[0]}, f.fault)
			},
		}
		fault.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of the cluster")
		c.AddCommand(fault)
	}
	return c
}
