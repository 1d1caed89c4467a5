package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/drover-project/drover/lab/internal/labclient"
)

func newManagementCommand(dir *string) *cobra.Command {
	c := &cobra.Command{Use: "management", Short: "Work with further management clusters"}
	c.AddCommand(&cobra.Command{
		Use:   "add NAME",
		Short: "Start one more management cluster",
		Long: "Starts one more management cluster in the lab, on which everything runs that runs on the first one.\n" +
			"Machines and load balancers are common to all, so that clusters can be moved between them.",
		Example: "  lab management add second\n  lab kubectl --management second get clusters -A",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lab, err := labclient.Attach(*dir)
			if err != nil {
				return err
			}
			if _, err := lab.AddManagement(cmd.Context(), args[0]); err != nil {
				return err
			}
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "Use `lab kubectl --management %s ARGS…`.\n", args[0])
			return nil
		},
	})
	return c
}
