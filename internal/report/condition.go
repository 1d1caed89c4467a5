package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func compare(a, b string) int { return cmp.Compare(a, b) }

func yes(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

func no(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func unknown(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: reason, Message: message}
}

func find(conditions []metav1.Condition, kind string) (metav1.Condition, bool) {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return *c, true
	}
	return metav1.Condition{}, false
}

func is(conditions []metav1.Condition, kind string, status metav1.ConditionStatus) bool {
	c, ok := find(conditions, kind)
	return ok && c.Status == status
}

// maxMessage is the most that a condition's message may hold.
const maxMessage = 32768

// set puts a condition into the list. The time of its last transition changes
// only with its status.
func set(conditions *[]metav1.Condition, c metav1.Condition, generation int64, now time.Time) {
	c.Message = stable(c.Message)
	if len(c.Message) > maxMessage {
		c.Message = c.Message[:maxMessage]
	}
	c.ObservedGeneration = generation
	// The API keeps whole seconds.
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	meta.SetStatusCondition(conditions, c)
}

func remove(conditions []metav1.Condition, kind string) []metav1.Condition {
	return slices.DeleteFunc(conditions, func(c metav1.Condition) bool { return c.Type == kind })
}

// source is the near end of a connection in an error of Go's net package. Its
// port is another one at each attempt.
var source = regexp.MustCompile(`\S+:\d+->`)

// stable takes out of a text what changes although nothing has changed.
func stable(text string) string { return source.ReplaceAllString(text, "") }

// list writes items as the lines of a list, the way Cluster API's own
// messages do.
func list(items []string) string {
	lines := make([]string, 0, len(items))
	for _, item := range items {
		lines = append(lines, "* "+item)
	}
	return strings.Join(lines, "\n")
}

// withConditions copies the Machines and sets conditions on the copies.
func withConditions(machines []*clusterv1.Machine, conditions map[string][]metav1.Condition, now time.Time) []*clusterv1.Machine {
	out := make([]*clusterv1.Machine, 0, len(machines))
	for _, m := range machines {
		m = m.DeepCopy()
		for _, c := range conditions[m.Name] {
			set(&m.Status.Conditions, c, m.Generation, now)
		}
		out = append(out, m)
	}
	return out
}
