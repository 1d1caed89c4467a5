package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/drover-project/drover/lab/internal/control"
	"github.com/drover-project/drover/lab/internal/labclient"
)

func newMachinesCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "machines",
		Short: "List the machines of the lab",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lab, err := labclient.Attach(*dir)
			if err != nil {
				return err
			}
			machines, err := lab.Control().Machines(cmd.Context())
			if err != nil {
				return err
			}
			if len(machines) == 0 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "The lab has no machines.")
				return err
			}
			return printMachines(cmd.OutOrStdout(), machines)
		},
	}
}

func newMachineCommand(dir *string) *cobra.Command {
	c := &cobra.Command{Use: "machine", Short: "Disturb a machine, or run a command in it", Args: cobra.NoArgs}
	for _, f := range []struct {
		fault control.Fault
		short string
	}{
		{control.Kill, "Switch a machine off for good, as if its power failed"},
		{control.Freeze, "Stop all processes of a machine"},
		{control.Thaw, "Let a frozen machine go on"},
		{control.Cut, "Pull a machine's network cable"},
		{control.Heal, "Plug the cable in again"},
	} {
		c.AddCommand(newFaultCommand(dir, f.fault, f.short))
	}
	c.AddCommand(newExecCommand(dir))
	return c
}

func newFaultCommand(dir *string, fault control.Fault, short string) *cobra.Command {
	return &cobra.Command{
		Use:   string(fault) + " NAME",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lab, err := labclient.Attach(*dir)
			if err != nil {
				return err
			}
			return hint(lab.Control().Disturb(cmd.Context(), args[0], fault))
		},
	}
}

func newExecCommand(dir *string) *cobra.Command {
	c := &cobra.Command{
		Use:     "exec NAME COMMAND…",
		Short:   "Run a command inside a machine",
		Example: "  lab machine exec demo-abcde journalctl -u rke2-server",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			lab, err := labclient.Attach(*dir)
			if err != nil {
				return err
			}
			result, err := lab.Control().Exec(cmd.Context(), args[0], control.ExecRequest{Argv: args[1:]})
			if err != nil {
				return hint(err)
			}
			_, outErr := cmd.OutOrStdout().Write(result.Stdout)
			_, errErr := cmd.ErrOrStderr().Write(result.Stderr)
			if err := errors.Join(outErr, errErr); err != nil {
				return err
			}
			if result.ExitCode != 0 {
				return exitCode(result.ExitCode)
			}
			return nil
		},
	}
	// What follows the name belongs to the command.
	c.Flags().SetInterspersed(false)
	return c
}

// hint adds the way out to errors about machines that do not exist.
func hint(err error) error {
	if errors.Is(err, control.ErrNotFound) {
		return fmt.Errorf("%w; `lab machines` lists them", err)
	}
	return err
}
