package report

import (
	"slices"
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
)

func TestHealthOf(t *testing.T) {
	in := healthy(5)
	if got := HealthOf(in.Snapshot); got != (MemberHealth{Known: true, Healthy: 5, MayFail: 2}) {
		t.Errorf("%+v", got)
	}
	silent(&in, 1)
	in.Snapshot.Etcd.Members.Value[2].Answers = model.Unknown[bool]("no answer", now)
	in.Snapshot.Etcd.Members.Value = append(in.Snapshot.Etcd.Members.Value, model.Member{ID: 9, Learner: true, Name: "new", Answers: model.Known(true, now)})
	if got := HealthOf(in.Snapshot); got != (MemberHealth{Known: true, Healthy: 3, Unhealthy: 1, Unasked: 1, Joining: 1}) {
		t.Errorf("%+v", got)
	}
	silent(&in, 0)
	if got := HealthOf(in.Snapshot); got.MayFail != -1 {
		t.Errorf("%+v", got)
	}
	silence(&in)
	if got := HealthOf(in.Snapshot); got != (MemberHealth{}) {
		t.Errorf("%+v", got)
	}
}

// look is a Snapshot with one Machine in a phase, none without one.
func look(at time.Duration, phase model.Phase, since time.Duration) model.Snapshot {
	s := model.Snapshot{Now: now.Add(at)}
	if phase != model.PhaseNone {
		s.Machines = []model.Machine{{UID: "u", Deleting: true, Phase: phase, PhaseSince: now.Add(since)}, {UID: "stays"}}
	}
	return s
}

// The time in each phase is taken from core where core keeps it, and else from
// the first look.
func TestTimeInEachPhase(t *testing.T) {
	var stays map[string]Stay
	var got []Ended
	for _, s := range []model.Snapshot{
		look(0, "NotDeleting", -time.Hour), // core has not begun
		look(1*time.Second, model.PhaseWaitingForPreDrain, 0),
		look(9*time.Second, model.PhaseDraining, 7*time.Second),
		look(30*time.Second, model.PhaseDraining, 7*time.Second),
		look(70*time.Second, model.PhaseWaitingForPreTerm, 67*time.Second),
		// Core keeps no time for this one: it gives the beginning of the deletion.
		look(80*time.Second, model.PhaseDeletingInfra, -5*time.Second),
		look(90*time.Second, model.PhaseDeletingInfra, -5*time.Second),
		look(100*time.Second, model.PhaseNone, 0),
		look(110*time.Second, model.PhaseNone, 0),
	} {
		next := Stays(stays, s)
		got = append(got, EndedStays(stays, next, s.Now)...)
		stays = next
	}
	want := []Ended{
		{model.PhaseWaitingForPreDrain, 7 * time.Second}, {model.PhaseDraining, time.Minute}, {model.PhaseWaitingForPreTerm, 13 * time.Second},
		{model.PhaseDeletingInfra, 20 * time.Second},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
