package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/drover-project/drover/internal/explain"
)

// listing is what the flags of members say.
type listing struct {
	access access
	output output
}

func membersCommand() *cobra.Command {
	l := &listing{}
	c := &cobra.Command{
		Use:   "members CLUSTER",
		Short: "Show etcd's own list of members, and how many may fail",
		Long: `Show etcd's own list of members, and how many may fail.

The list comes from a voter, through the API server of the workload cluster. It needs the Secrets CLUSTER-kubeconfig and
CLUSTER-etcd.

Exit codes: 0 all members are healthy voters, 1 failure, 3 a member is joining, 4 a member is not healthy or not known.`,
		Example: "  kubectl drover members prod -n shop",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.output.check(); err != nil {
				return err
			}
			s, err := l.access.open(args[0])
			if err != nil {
				return err
			}
			return l.run(cmd.Context(), s, cmd.OutOrStdout())
		},
	}
	l.access.add(c.Flags())
	l.output.add(c.Flags())
	return c
}

func (l *listing) run(ctx context.Context, s *session, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	v, err := s.see(ctx, nil)
	if err != nil {
		return lacking(fmt.Errorf("members: %w", err), s.denied.Denied())
	}
	members := explain.MembersOf(v.snapshot, s.denied.Denied())
	if err := l.output.write(out, members); err != nil {
		return err
	}
	switch joining, sick := members.Trouble(); {
	case v.snapshot.ControlPlane.ExternalDatastore && !v.snapshot.ControlPlane.HiddenEtcd:
		return nil
	case !members.Has, sick:
		return errHeldUp
	case joining:
		return errInProgress
	default:
		return nil
	}
}
