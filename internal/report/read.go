package report

import (
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

// Said is what can be read back from the conditions of a control plane. It is
// for somebody who can't look for himself, and never for a decision.
type Said struct {
	// Waits are those that conditions name, the deciding one first, without the
	// times.
	Waits []model.Wait
	// Failures are the actions that failed.
	Failures []string
	// Settled: there are conditions, and none says that something is being
	// changed or held up.
	Settled bool
	// Health are the conditions about the servers that are not true, each in a
	// line.
	Health []string
}

// progressConditions are those in which waits stand.
var progressConditions = []string{
	controlplanev1.RollingOutCondition, controlplanev1.ScalingUpCondition, controlplanev1.ScalingDownCondition, controlplanev1.DeletingCondition,
}

var healthConditions = []string{
	controlplanev1.AvailableCondition, controlplanev1.EtcdClusterHealthyCondition, controlplanev1.ControlPlaneComponentsHealthyCondition,
}

// Read reads conditions that a Report has written.
func Read(conditions []metav1.Condition) Said {
	out := Said{Settled: len(conditions) > 0}
	for _, kind := range progressConditions {
		c, ok := find(conditions, kind)
		if !ok {
			continue
		}
		waits, failures := readHeld(c.Message)
		for _, w := range waits {
			if !slices.ContainsFunc(out.Waits, func(o model.Wait) bool { return identity(o) == identity(w) }) {
				out.Waits = append(out.Waits, w)
			}
		}
		for _, f := range failures {
			if !slices.Contains(out.Failures, f) {
				out.Failures = append(out.Failures, f)
			}
		}
		out.Settled = out.Settled && c.Status == metav1.ConditionFalse
	}
	out.Settled = out.Settled && len(out.Waits) == 0
	for _, kind := range healthConditions {
		if c, ok := find(conditions, kind); ok && c.Status != metav1.ConditionTrue {
			out.Health = append(out.Health, kind+" is "+string(c.Status)+": "+strings.Join(strings.Fields(c.Reason+" "+c.Message), " "))
		}
	}
	return out
}

var (
	// heldText is a WaitText in a list. A message may have lines of its own.
	heldText = regexp.MustCompile(`(?s)\* (.*?) \[rule ([a-z0-9_]+)(?:; held up by (.*?))?\](?:\n|$)`)
	// blockerText is where one blocker begins.
	blockerText = regexp.MustCompile(`(?:^|, )(Machine|Node|etcd member|etcd|RKE2ControlPlane|Cluster|infrastructure template|registration address) `)
	// heldMachine is the Machine that a message is about, unless it is one that
	// joins.
	heldMachine = regexp.MustCompile(`^Machine (\S+) (\S+ ?\S*)`)
)

const failed = "* Failed to "

// readHeld reads what stands behind the heading of a condition's message.
func readHeld(message string) ([]model.Wait, []string) {
	if _, after, ok := strings.Cut(message, "eld up:\n"); ok {
		message = after
	}
	var failures []string
	if i := strings.Index("\n"+message, "\n"+failed); i >= 0 {
		for _, line := range strings.Split(message[i:], "\n"+failed) {
			failures = append(failures, strings.TrimPrefix(strings.TrimPrefix(line, failed), "* "))
		}
		message = message[:i]
	}
	var waits []model.Wait
	for _, m := range heldText.FindAllStringSubmatch(message, -1) {
		w := model.Wait{Message: m[1], Rule: m[2], Blockers: readBlockers(m[3])}
		if about := heldMachine.FindStringSubmatch(w.Message); about != nil && about[2] != "is joining" && about[2] != "starts the" {
			w.Machine = about[1]
		}
		waits = append(waits, w)
	}
	return waits, failures
}

func readBlockers(text string) []model.Blocker {
	var out []model.Blocker
	begins := blockerText.FindAllStringSubmatchIndex(text, -1)
	for i, at := range begins {
		end := len(text)
		if i+1 < len(begins) {
			end = begins[i+1][0]
		}
		name, unblock, _ := strings.Cut(text[at[1]:end], ": ")
		out = append(out, model.Blocker{Kind: text[at[2]:at[3]], Name: name, Unblock: unblock})
	}
	return out
}
