package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/drover-project/drover/lab/internal/labclient"
)

func newDownCommand(dir *string) *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use:   "down",
		Short: "End the lab and remove its run folder",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lab, err := labclient.Attach(*dir)
			if err != nil {
				removed, removeErr := labclient.RemoveDead(*dir, keep)
				if removed && removeErr == nil {
					_, _ = fmt.Fprintln(cmd.OutOrStdout(), "The lab was dead already; its run folder is removed.")
					return nil
				}
				return errors.Join(err, removeErr)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), downTimeout)
			defer cancel()
			if err := lab.Down(ctx, keep); err != nil {
				return err
			}
			if keep {
				_, _ = fmt.Fprintln(cmd.OutOrStdout(), "The lab is gone; its logs are in", lab.Folder().Logs())
				return nil
			}
			_, _ = fmt.Fprintln(cmd.OutOrStdout(), "The lab is gone.")
			return nil
		},
	}
	c.Flags().BoolVar(&keep, "keep", false, "keep the logs")
	return c
}

func newStatusCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show whether a lab runs, and its load balancers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lab, err := labclient.Attach(*dir)
			if err != nil {
				return err
			}
			status, err := lab.Control().Status(cmd.Context())
			if err != nil {
				return err
			}
			balancers, err := lab.Control().Balancers(cmd.Context())
			if err != nil {
				return err
			}
			return printStatus(cmd.OutOrStdout(), lab, status, balancers)
		},
	}
}
