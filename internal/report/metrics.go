package report

import (
	"maps"
	"slices"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

// MemberHealth counts etcd's members for metrics. Each is in exactly one of the
// counts.
type MemberHealth struct {
	// Known is false when etcd's list could not be read; the rest is then zero.
	Known bool
	// Healthy are voters that work, Unhealthy those that do not, Unasked those
	// that could not be asked, Joining learners and members not started yet.
	Healthy, Unhealthy, Unasked, Joining int
	// MayFail is how many healthy voters may fail before the quorum is lost. It
	// is negative when that has happened.
	MayFail int
}

// HealthOf counts the members of a Snapshot.
func HealthOf(s model.Snapshot) MemberHealth {
	if !s.Etcd.Members.Known {
		return MemberHealth{}
	}
	out := MemberHealth{Known: true}
	for _, m := range s.Etcd.Members.Value {
		switch _, sure := m.Trouble(); {
		case m.Learner || !m.Started():
			out.Joining++
		case m.Healthy():
			out.Healthy++
		case sure:
			out.Unhealthy++
		default:
			out.Unasked++
		}
	}
	voters := quorum.Voters(s.Etcd.Members.Value)
	out.MayFail = len(quorum.HealthyVoters(s.Etcd.Members.Value)) - quorum.Size(len(voters))
	return out
}

// Stay is the time that a Machine spends in one phase of its deletion.
type Stay struct {
	Phase model.Phase
	Since time.Time
}

// Stays are where the Machines of a Snapshot stand that are being deleted, by
// UID. Core keeps when some phases began; the others began when they were seen
// first, for which the stays of the last look are needed.
func Stays(before map[string]Stay, s model.Snapshot) map[string]Stay {
	out := map[string]Stay{}
	for _, m := range s.Machines {
		if !m.Deleting || m.Phase == model.PhaseNone || m.Phase == model.PhaseNotDeleting {
			continue
		}
		stay := Stay{Phase: m.Phase, Since: s.Now}
		switch was, ok := before[m.UID]; {
		case coreKeepsTime(m.Phase) && !m.PhaseSince.IsZero():
			stay.Since = m.PhaseSince
		case ok && was.Phase == m.Phase:
			stay.Since = was.Since
		}
		out[m.UID] = stay
	}
	return out
}

// coreKeepsTime tells whether core writes down when a phase began (the Machine's
// status.deletion).
func coreKeepsTime(p model.Phase) bool {
	switch p {
	case model.PhaseWaitingForPreDrain, model.PhaseDraining, model.PhaseWaitingForVolumes, model.PhaseWaitingForPreTerm:
		return true
	default:
		return false
	}
}

// Ended is a phase that a Machine has left, and how long it took.
type Ended struct {
	Phase model.Phase
	Took  time.Duration
}

// EndedStays are the phases that were left between two looks: until the next
// phase began, or until it was seen that the Machine is gone. They are in the
// order of UIDs.
func EndedStays(before, now map[string]Stay, at time.Time) []Ended {
	var out []Ended
	for _, uid := range slices.Sorted(maps.Keys(before)) {
		was, next := before[uid], now[uid]
		if next.Phase == was.Phase {
			continue
		}
		until := at
		if !next.Since.IsZero() {
			until = next.Since
		}
		out = append(out, Ended{Phase: was.Phase, Took: max(0, until.Sub(was.Since))})
	}
	return out
}
