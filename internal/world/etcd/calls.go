package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
)

// Member is one entry of etcd's member list.
type Member struct {
	ID uint64
	// Name is empty until the member has started for the first time.
	Name     string
	PeerURLs []string
	Learner  bool
}

// Status is what a member says about itself.
type Status struct {
	ID uint64
	// Leader is the ID of the member it takes for the leader, 0 if none.
	Leader  uint64
	Learner bool
	// Index is the last entry of its log, Applied the last one it has
	// carried out.
	Index, Applied uint64
	Term           uint64
	// Version is etcd's own version.
	Version string
	// Errors are faults the member reports, such as a raised alarm.
	Errors []string
}

// Alarm is a fault that etcd keeps on record for a member.
type Alarm struct {
	Member uint64
	// Kind is NOSPACE or CORRUPT.
	Kind string
}

// Status asks the member on a node how it does. A member that was silent a
// moment ago is given less time, so that a dead server does not slow down
// every look at the others.
func (c *Cluster) Status(ctx context.Context, node string) (Status, error) {
	var out Status
	ctx, cancel := context.WithTimeout(ctx, c.patience(node))
	defer cancel()
	err := c.call(ctx, node, "status", func(ctx context.Context, conn *grpc.ClientConn) error {
		r, err := pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{})
		if err != nil {
			return err
		}
		out = Status{
			ID: r.Header.GetMemberId(), Leader: r.Leader, Learner: r.IsLearner,
			Index: r.RaftIndex, Applied: r.RaftAppliedIndex, Term: r.RaftTerm,
			Version: r.Version, Errors: r.Errors,
		}
		return nil
	})
	return out, err
}

// Members asks the member on a node for the member list. The answer is
// linearizable: it needs quorum, and holds every change that was confirmed
// before.
func (c *Cluster) Members(ctx context.Context, node string) ([]Member, error) {
	var out []Member
	err := c.call(ctx, node, "list members", func(ctx context.Context, conn *grpc.ClientConn) error {
		r, err := pb.NewClusterClient(conn).MemberList(ctx, &pb.MemberListRequest{Linearizable: true})
		if err != nil {
			return err
		}
		out = make([]Member, 0, len(r.Members))
		for _, m := range r.Members {
			out = append(out, Member{ID: m.ID, Name: m.Name, PeerURLs: m.PeerURLs, Learner: m.IsLearner})
		}
		return nil
	})
	return out, err
}

// Alarms asks the member on a node for all alarms of the cluster.
func (c *Cluster) Alarms(ctx context.Context, node string) ([]Alarm, error) {
	var out []Alarm
	err := c.call(ctx, node, "list alarms", func(ctx context.Context, conn *grpc.ClientConn) error {
		r, err := pb.NewMaintenanceClient(conn).Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_GET})
		if err != nil {
			return err
		}
		out = nil
		for _, a := range r.Alarms {
			if a.Alarm != pb.AlarmType_NONE {
				out = append(out, Alarm{Member: a.MemberID, Kind: a.Alarm.String()})
			}
		}
		return nil
	})
	return out, err
}

// MoveLeader hands the leadership to the member with the given ID. The node
// must be that of the present leader, which is the only one that can.
func (c *Cluster) MoveLeader(ctx context.Context, leaderNode string, to uint64) error {
	return c.call(ctx, leaderNode, "move leader to "+hex(to), func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewMaintenanceClient(conn).MoveLeader(ctx, &pb.MoveLeaderRequest{TargetID: to})
		return err
	})
}

// Remove takes a member out of the cluster. The node must be that of another
// voter. A member that is not there any more is no error. After ErrUnclear
// only a fresh list tells.
func (c *Cluster) Remove(ctx context.Context, voterNode string, id uint64) error {
	return c.call(ctx, voterNode, "remove member "+hex(id), func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewClusterClient(conn).MemberRemove(ctx, &pb.MemberRemoveRequest{ID: id})
		if errors.Is(rpctypes.Error(err), rpctypes.ErrMemberNotFound) {
			return nil
		}
		return err
	})
}

func (c *Cluster) call(ctx context.Context, node, what string, do func(context.Context, *grpc.ClientConn) error) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	conn, err := c.conn(node)
	if err != nil {
		return err
	}
	err = classify(do(ctx, conn))
	if err == nil {
		c.remember(node, false)
		return nil
	}
	if spoils(err) {
		c.drop(node, conn)
		c.remember(node, true)
	}
	return fmt.Errorf("etcd on node %s: %s: %w", node, what, err)
}

func hex(id uint64) string { return strconv.FormatUint(id, 16) }
