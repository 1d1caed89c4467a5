// Package quorum holds the arithmetic of etcd membership: whether a member may
// be removed, lost or added without the cluster losing its ability to write.
//
// Only voters count. A member that is not known to work counts as one that
// does not: the answers are safe, never optimistic. The rules are those of
// etcd's strict reconfiguration check (etcd 3.6, server/etcdserver), measured
// against real members.
package quorum

import (
	"fmt"
	"strings"

	"github.com/drover-project/drover/internal/model"
)

// Verdict is the answer to a question about the membership.
type Verdict struct {
	OK bool
	// Why is a sentence that holds the numbers, for people. It may be empty
	// when OK is true.
	Why string
	// Members are the members that stand in the way, if any.
	Members []model.Member
}

// Size is the number of votes that n voters need to agree.
func Size(n int) int { return n/2 + 1 }

// Voters are the members that count, healthy or not.
func Voters(members []model.Member) []model.Member {
	return filter(members, model.Member.Voter)
}

// HealthyVoters are the members that count and are known to work.
func HealthyVoters(members []model.Member) []model.Member {
	return filter(members, model.Member.HealthyVoter)
}

// Has tells whether the members can agree on a write now.
func Has(members []model.Member) Verdict {
	voters, healthy := count(members, nobody)
	v := Verdict{OK: voters > 0 && healthy >= Size(voters)}
	if !v.OK {
		v.Why = fmt.Sprintf("%d of %d voters are healthy, %d are needed", healthy, voters, Size(voters))
		v.Members = unhealthyVoters(members)
	}
	return v
}

// AfterRemoval tells whether the member can be removed by a membership change
// and the rest can still agree afterwards. The change itself needs the present
// quorum; the last voter can never be removed.
func AfterRemoval(members []model.Member, id uint64) Verdict {
	if now := Has(members); !now.OK {
		now.Why = "no quorum to decide on a removal: " + now.Why
		return now
	}
	voters, healthy := count(members, id)
	if voters == 0 {
		return Verdict{Why: "it is the last voter, and with it all data would go"}
	}
	v := Verdict{OK: healthy >= Size(voters)}
	if !v.OK {
		v.Why = fmt.Sprintf("after the removal %d of %d voters would be healthy, %d are needed", healthy, voters, Size(voters))
		v.Members = unhealthyVoters(without(members, id))
	}
	return v
}

// AfterLoss tells whether the members can still agree if this one stops
// without having been removed. It decides whether RKE2 may be asked to do the
// removal: RKE2 stops the member and removes it at the same time, unordered.
func AfterLoss(members []model.Member, id uint64) Verdict {
	voters, _ := count(members, nobody)
	_, healthy := count(members, id)
	v := Verdict{OK: healthy >= Size(voters)}
	if !v.OK {
		v.Why = fmt.Sprintf("without it %d of %d voters are healthy, %d are needed", healthy, voters, Size(voters))
	}
	return v
}

// AfterJoinAndLoss tells whether the members can still agree if one more joins
// them, becomes a voter and stops without having been removed. Nobody joins
// before every voter that is down is off the list, so that those are not counted.
// One that can't be asked may work, and then counts.
func AfterJoinAndLoss(members []model.Member) Verdict {
	healthy, all := 0, 1
	for _, m := range Voters(members) {
		if m.Healthy() {
			healthy++
		}
		if down := m.Answers.Known && !m.Answers.Value; !down {
			all++
		}
	}
	v := Verdict{OK: healthy >= Size(all)}
	if !v.OK {
		v.Why = fmt.Sprintf("with one voter more that is lost again %d of %d would be healthy, %d are needed", healthy, all, Size(all))
	}
	return v
}

// Join tells whether etcd will accept another member. It refuses every
// addition while a voter is down, and a second learner.
func Join(members []model.Member) Verdict {
	if down := unhealthyVoters(members); len(down) > 0 {
		return Verdict{
			Why:     fmt.Sprintf("etcd accepts no new member while a voter does not work: %s", labels(down)),
			Members: down,
		}
	}
	if learners := filter(members, func(m model.Member) bool { return m.Learner }); len(learners) > 0 {
		return Verdict{
			Why:     fmt.Sprintf("etcd accepts one learner at a time: %s", labels(learners)),
			Members: learners,
		}
	}
	return Verdict{OK: true, Why: "all voters are healthy and none is joining"}
}

// nobody is an ID that no member has: etcd does not give it out.
const nobody = 0

// count counts the voters, and those of them that are known to work, without
// one member.
func count(members []model.Member, without uint64) (voters, healthy int) {
	for i := range members {
		if members[i].ID == without || !members[i].Voter() {
			continue
		}
		voters++
		if members[i].Healthy() {
			healthy++
		}
	}
	return voters, healthy
}

func unhealthyVoters(members []model.Member) []model.Member {
	return filter(members, func(m model.Member) bool {
		return m.Voter() && !m.Healthy()
	})
}

func without(members []model.Member, id uint64) []model.Member {
	return filter(members, func(m model.Member) bool { return m.ID != id })
}

func filter(members []model.Member, keep func(model.Member) bool) []model.Member {
	var out []model.Member
	for _, m := range members {
		if keep(m) {
			out = append(out, m)
		}
	}
	return out
}

func labels(members []model.Member) string {
	names := make([]string, 0, len(members))
	for _, m := range members {
		names = append(names, m.Label())
	}
	return strings.Join(names, ", ")
}
