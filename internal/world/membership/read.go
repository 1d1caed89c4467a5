package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/etcd"
)

// Members is what of etcd.Cluster is needed for reading.
type Members interface {
	Status(ctx context.Context, node string) (etcd.Status, error)
	Members(ctx context.Context, node string) ([]etcd.Member, error)
	Alarms(ctx context.Context, node string) ([]etcd.Alarm, error)
	Path(node string) model.Path
}

// Membership is what was read.
type Membership struct {
	// Members is the list, sorted by ID, without UnmatchedSince and
	// NodeReady. Unknown when no voter gave it.
	Members model.Fact[[]model.Member]
	// Path is the way that the list was read on.
	Path model.Path
	// Node tells for each member ID on which node it runs, if that is known.
	Node map[uint64]string
}

// answer is what came back from one node.
type answer struct {
	node   string
	path   model.Path
	status etcd.Status
	err    error
}

// Read asks every server that has a node, all at once, and then one voter for
// the list. Failures become unknown facts.
func Read(ctx context.Context, c Members, servers []Server, now func() time.Time) Membership {
	answers := askAll(ctx, c, servers)
	list, err := readList(ctx, c, answers)
	at := now()
	if err != nil {
		return Membership{Members: model.Unknown[[]model.Member](err.Error(), at)}
	}
	return combine(list, servers, answers, at)
}

// FromList is what is known of members that only somebody else lists: who they
// are, and nothing of their health.
func FromList(members []etcd.Member, path model.Path, servers []Server, at time.Time) Membership {
	out := combine(listing{members: members, path: path}, servers, nil, at)
	for i := range out.Members.Value {
		out.Members.Value[i].Answers = model.Unknown[bool](fmt.Sprintf("there is no way to it; the list comes from the %s", path), at)
	}
	return out
}

func askAll(ctx context.Context, c Members, servers []Server) []answer {
	var nodes []string
	for _, s := range servers {
		if s.Node != "" && !s.Gone {
			nodes = append(nodes, s.Node)
		}
	}
	answers := make([]answer, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		wg.Go(func() {
			status, err := c.Status(ctx, node)
			answers[i] = answer{node: node, path: c.Path(node), status: status, err: err}
		})
	}
	wg.Wait()
	return answers
}

// attempts is how many voters are asked for the list before giving up. It
// bounds the time; whoever answered a moment ago will most likely answer.
const attempts = 2

// readList asks the leader first: it needs no other member to answer, and is
// surely up to date.
func readList(ctx context.Context, c Members, answers []answer) (listing, error) {
	var problems []string
	var voters []answer
	for _, a := range answers {
		switch {
		case a.err != nil:
			problems = append(problems, a.err.Error())
		case a.status.Learner:
			problems = append(problems, fmt.Sprintf("etcd on node %s is a learner", a.node))
		default:
			voters = append(voters, a)
		}
	}
	slices.SortStableFunc(voters, func(a, b answer) int { return cmp.Compare(rank(a.status), rank(b.status)) })
	for i, voter := range voters {
		if i == attempts {
			break
		}
		members, alarms, err := listAndAlarms(ctx, c, voter.node)
		if err == nil {
			return listing{members: members, alarms: alarms, path: voter.path}, nil
		}
		problems = append(problems, err.Error())
	}
	if len(problems) == 0 {
		return listing{}, errors.New("no server with a known node could be asked")
	}
	slices.Sort(problems)
	return listing{}, fmt.Errorf("no etcd voter gave the member list: %s", strings.Join(slices.Compact(problems), "; "))
}

func rank(s etcd.Status) int {
	switch s.Leader {
	case s.ID:
		return 0
	case 0:
		return 2
	default:
		return 1
	}
}

func listAndAlarms(ctx context.Context, c Members, node string) (members []etcd.Member, alarms []etcd.Alarm, err error) {
	var listErr, alarmErr error
	var wg sync.WaitGroup
	wg.Go(func() { members, listErr = c.Members(ctx, node) })
	wg.Go(func() { alarms, alarmErr = c.Alarms(ctx, node) })
	wg.Wait()
	return members, alarms, errors.Join(listErr, alarmErr)
}

// listing is what one voter told about all members.
type listing struct {
	members []etcd.Member
	alarms  []etcd.Alarm
	path    model.Path
}

func combine(list listing, servers []Server, answers []answer, at time.Time) Membership {
	byID, byNode := map[uint64]answer{}, map[string]answer{}
	answered := map[uint64]string{}
	for _, a := range answers {
		byNode[a.node] = a
		if a.err == nil {
			byID[a.status.ID], answered[a.status.ID] = a, a.node
		}
	}
	matched := Match(list.members, servers, answered)
	leader, furthest := leaderOf(byID), furthestIndex(byID)
	out := Membership{Path: list.path, Node: map[uint64]string{}}
	members := make([]model.Member, 0, len(list.members))
	for _, listed := range list.members {
		m := model.Member{ID: listed.ID, Name: listed.Name, PeerURLs: listed.PeerURLs, Learner: listed.Learner}
		m.Leader = leader == listed.ID
		m.Alarms = alarmsOf(list.alarms, listed.ID)
		node := ""
		if i, ok := matched[listed.ID]; ok {
			m.Machine, m.Doomed, node = servers[i].Machine, servers[i].Doomed, servers[i].Node
			out.Node[listed.ID] = node
		}
		if own, ok := byID[listed.ID]; ok {
			m.Answers = model.Known(own.status.Leader != 0, at)
			m.Version, m.Path = own.status.Version, own.path
			m.Lag = furthest - min(furthest, own.status.Applied)
		} else {
			m.Answers = silence(listed, node, byNode[node], at)
		}
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b model.Member) int { return cmp.Compare(a.ID, b.ID) })
	out.Members = model.Known(members, at)
	return out
}

// silence says why a member gave no answer. Only a refused connection is
// knowledge: the kubelet was there, and nothing listened. The same holds if
// another member answered from the node.
func silence(m etcd.Member, node string, own answer, at time.Time) model.Fact[bool] {
	switch {
	case node == "" && m.Name == "":
		return model.Unknown[bool]("the member has not started yet", at)
	case node != "" && own.node == "":
		return model.Unknown[bool]("its Node "+node+" is being deleted and has no Machine", at)
	case own.node == "":
		return model.Unknown[bool]("it is not known on which node the member runs", at)
	case own.err == nil:
		return model.Known(false, at)
	case errors.Is(own.err, etcd.ErrNotRunning):
		return model.Known(false, at)
	default:
		return model.Unknown[bool](own.err.Error(), at)
	}
}

// leaderOf is the member that those of the latest term take for the leader,
// 0 when they do not agree.
func leaderOf(answers map[uint64]answer) uint64 {
	var term, leader uint64
	for _, a := range answers {
		if a.status.Leader == 0 {
			continue
		}
		switch {
		case a.status.Term > term:
			term, leader = a.status.Term, a.status.Leader
		case a.status.Term == term && a.status.Leader != leader:
			leader = 0
		}
	}
	return leader
}

func furthestIndex(answers map[uint64]answer) uint64 {
	var out uint64
	for _, a := range answers {
		out = max(out, a.status.Index)
	}
	return out
}

func alarmsOf(alarms []etcd.Alarm, id uint64) []string {
	var out []string
	for _, a := range alarms {
		if a.Member == id {
			out = append(out, a.Kind)
		}
	}
	slices.Sort(out)
	return out
}
