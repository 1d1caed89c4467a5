package report

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drover-project/drover/internal/model"
)

// What a Report has written can be read back, whatever was decided.
func TestReadWhatWasWritten(t *testing.T) {
	decisions := map[string]model.Decision{
		"one wait": {Rule: "r", Waits: []model.Wait{{
			Rule: "drain_comes_before_member", Machine: "cp-a", Message: "Machine cp-a is being drained: Drain not completed yet:\n* Pod shop/cart-0: cannot evict",
			Blockers: []model.Blocker{{Kind: "Machine", Name: "cp-a", Unblock: "it ends when core has drained the Node, and not before"}},
		}}},
		"two waits": {Rule: "r", Waits: []model.Wait{
			{
				Rule: "quorum_survives_removal", Machine: "cp-a", Message: "Machine cp-a can't leave (no quorum: 1 of 3)",
				Blockers: []model.Blocker{{Kind: "etcd member", Name: "n-b", Unblock: "bring it back, or delete it"}, {Kind: "etcd member", Name: "n-c", Unblock: "bring it back"}},
			},
			{
				Rule: "one_server_leaves_at_a_time", Machine: "cp-b", Message: "Machine cp-b waits until Machine cp-a is gone: one server leaves at a time",
				Blockers: []model.Blocker{{Kind: "Machine", Name: "cp-a", Unblock: "it ends when that Machine is gone"}},
			},
		}},
		"a server joins": {Rule: "r", Waits: []model.Wait{{
			Rule: "one_server_joins_at_a_time", Message: "Machine cp-d is joining and waits for its Node to register",
			Blockers: []model.Blocker{{Kind: "Machine", Name: "cp-d", Unblock: "it ends"}},
		}}},
		"a template": {Rule: "r", Waits: []model.Wait{{
			Rule: "missing_server_is_created", Message: "infrastructure template T/t does not exist",
			Blockers: []model.Blocker{{Kind: "infrastructure template", Name: "T/t", Unblock: "create it"}},
		}}},
	}
	failures := []string{"Failed to delete Machine cp-b (surplus): no connection"}
	for name, d := range decisions {
		for _, outdated := range []bool{false, true} {
			in := healthy(3)
			in.Decision, in.Failures = d, failures
			if outdated {
				in.Snapshot.Machines[0].Outdated = []string{"version v1, wanted v2"}
			} else {
				in.Snapshot.ControlPlane.Replicas = 5
			}
			said := Read(Make(in).Status.Conditions)
			if diff := cmp.Diff(d.Waits, said.Waits); diff != "" {
				t.Errorf("%s, outdated %v: %s", name, outdated, diff)
			}
			if !slices.Equal(said.Failures, []string{"delete Machine cp-b (surplus): no connection"}) {
				t.Errorf("%s: failures %q", name, said.Failures)
			}
			if said.Settled {
				t.Errorf("%s: settled", name)
			}
		}
	}
}

func TestReadSettled(t *testing.T) {
	in := healthy(3)
	in.Decision = model.Decision{Rule: "settled"}
	said := Read(Make(in).Status.Conditions)
	if !said.Settled || said.Waits != nil || said.Failures != nil || said.Health != nil {
		t.Errorf("%+v", said)
	}
	silent(&in, 1)
	if said := Read(Make(in).Status.Conditions); len(said.Health) != 1 {
		t.Errorf("health %q", said.Health)
	}
	if Read(nil).Settled {
		t.Error("without conditions nothing is said")
	}
}
