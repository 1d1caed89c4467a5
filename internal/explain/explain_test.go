package explain

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

// screen is how many lines a terminal shows.
const screen = 24

// TestTexts pins what is said about each situation. Run it with -rewrite to
// accept a change.
func TestTexts(t *testing.T) {
	seen := map[string]bool{}
	datadriven.RunTest(t, "testdata/situations", func(t *testing.T, d *datadriven.TestData) string {
		name := strings.TrimSpace(d.Input)
		situation, ok := situations[name]
		if !ok {
			d.Fatalf(t, "there is no situation %q", name)
		}
		in := situation()
		in.Decision = plan.Decide(in.Snapshot)
		seen[name] = true
		var out string
		switch d.Cmd {
		case "explain":
			out = Explain(*in).Text()
		case "members":
			out = MembersOf(in.Snapshot, in.Denied).Text()
		default:
			d.Fatalf(t, "unknown command %q", d.Cmd)
		}
		if lines := strings.Count(out, "\n"); lines > screen {
			t.Errorf("%s: %d lines do not fit on a screen", name, lines)
		}
		return out
	})
	for name := range situations {
		if !seen[name] {
			t.Errorf("nothing is pinned for the situation %q", name)
		}
	}
}

// A wait that ends by itself and one that does not are told apart.
func TestState(t *testing.T) {
	for name, want := range map[string]State{
		"settled": Settled, "draining, held by a PodDisruptionBudget": HeldUp, "volumes left": InProgress, "foreign hook": HeldUp,
		"replacement is joining": InProgress, "replacement never joins": HeldUp, "quorum missing": HeldUp, "RKE2 is asked for the removal": InProgress,
		"leader moves": InProgress, "host is not destroyed": HeldUp, "orphan member": InProgress, "paused": Paused,
		"the whole is deleted, with workers": HeldUp, "template missing": HeldUp, "two deleted by hand": InProgress, "server broken": HeldUp, "core has not begun": InProgress, "settled, with a broken server": HeldUp, "joined and starting": InProgress, "member far behind": HeldUp,
		"first server": InProgress, "data lost": HeldUp, "seen in part": InProgress,
		"unhealthy, at the limit of retries": HeldUp, "the only server is unhealthy": HeldUp, "deleted, and its host is dead": InProgress, "all deleted at once": InProgress,
		"etcd 3.6 is refused": HeldUp, "etcd can't be asked, and one server is outdated": HeldUp, "load balancers let go": InProgress, "hosts gone while all is deleted": HeldUp,
	} {
		in := situations[name]()
		in.Decision = plan.Decide(in.Snapshot)
		if got := Explain(*in).State; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Where nothing can be seen and nothing was reported, the own view counts.
func TestBlindWithoutReport(t *testing.T) {
	in := situations["seen in part"]()
	in.Decision = plan.Decide(in.Snapshot)
	in.Reported = Reported{}
	if e := Explain(*in); len(e.Waits) == 0 || !strings.Contains(e.Waits[0].Message, "member list is unknown") {
		t.Errorf("waits %+v", e.Waits)
	}
	in.Reported = Reported{Settled: true}
	if e := Explain(*in); e.State != Settled {
		t.Errorf("state %s", e.State)
	}
	in.Reported.Health = []string{"EtcdClusterHealthy is False: NotHealthy"}
	if e := Explain(*in); e.State != HeldUp {
		t.Errorf("state %s", e.State)
	}
}

// What scripts read has names of its own.
func TestJSON(t *testing.T) {
	in := situations["draining, held by a PodDisruptionBudget"]()
	in.Decision = plan.Decide(in.Snapshot)
	text, err := json.Marshal(Explain(*in))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		State   string
		Leaving struct {
			Machine, Phase string
			Step, Steps    int
		}
		Waits []struct {
			Rule, Message string
			Blockers      []model.Blocker
		}
		Obstacles []model.Obstacle
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.State != "held up" || got.Leaving.Machine != "cp-a" || got.Leaving.Step != 4 || got.Leaving.Steps != 9 || got.Leaving.Phase != "DrainingNode" {
		t.Errorf("%s", text)
	}
	if len(got.Waits) != 1 || got.Waits[0].Rule != "drain_comes_before_member" || len(got.Waits[0].Blockers) != 1 || len(got.Obstacles) != 3 {
		t.Errorf("%s", text)
	}
}
