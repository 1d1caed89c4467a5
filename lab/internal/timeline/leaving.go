package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// MaxLeaseAge is the age that a kubelet's Lease must not reach while its server still has a member: it is the
// node-monitor-grace-period before Kubernetes 1.32 (now 50 s), after which pods of the node are given up.
const MaxLeaseAge = 40 * time.Second

// stepBeforeDrain is CAPI's reason for "waits for pre-drain hooks".
const stepBeforeDrain = "WaitingForPreDrainHook"

// stepBeforeTerminate is CAPI's reason for "drained, volumes detached, only pre-terminate hooks are left".
const stepBeforeTerminate = "WaitingForPreTerminateHook"

// The names of the checks that are asked for by name elsewhere: RulePodsFirst is the one that the founding bug breaks,
// and a dead host cannot keep the others.
const (
	RulePodsFirst  = "every pod gone before the member call"
	RuleExcluded   = "out of the load balancer before the member call"
	RuleNodeReady  = "node Ready until its pods are gone"
	RuleFreshLease = "kubelet lease never older than 40 s before the call"
	RuleStep       = "member call only in WaitingForPreTerminateHook"
)

// Finding is the outcome of one check.
type Finding struct {
	Rule    string
	Subject string
	OK      bool
	// Measured is what was seen, in words.
	Measured string
}

// CheckLeaving holds every departed server against the order in which a server must leave: out of the load balancer,
// pods gone, then the member, asked for exactly once, with the node alive until then, and only one server at a time.
// A rule is reported as broken only when that is certain. When the observations do not tell, the finding says so, and
// is not as it should be either.
func CheckLeaving(events []Event) []Finding {
	var out []Finding
	exact := dated(events)
	departures := Departures(exact)
	for _, d := range departures {
		out = append(out, checkExcluded(exact, d), checkPods(exact, d), checkNode(exact, d), checkLease(exact, d), checkStep(exact, d), checkCalls(d))
	}
	// One watch tells of all Machines, so what it told stays in the order in which it told it.
	return append(out, checkOneAtATime(events, departures), checkRPCs(events))
}

// Violations keeps the findings that are not as they should be.
func Violations(findings []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.OK })
}

// checkExcluded wants the server out of the load balancers before its member is told to go, or clients would be sent
// to an API server without storage.
func checkExcluded(events []Event, d Departure) Finding {
	f := Finding{Rule: RuleExcluded, Subject: d.Machine}
	if len(d.Calls) == 0 {
		f.Measured = "no member call seen"
		return f
	}
	f.Measured = "never taken out"
	for _, e := range events {
		if e.Kind == NodeExcluded && e.Node == d.Node {
			f.OK = compare(e, d.Calls[0]) == before
			f.Measured = round(d.Calls[0].At.Sub(e.At)) + " before the call"
			if compare(e, d.Calls[0]) == untold {
				f.Measured = untoldText(d.Calls[0], "the Node was taken out", e)
			}
			return f
		}
	}
	return f
}

func checkPods(events []Event, d Departure) Finding {
	f := Finding{Rule: RulePodsFirst, Subject: d.Machine}
	seen, gone := podsOf(events, d.Node)
	if len(d.Calls) == 0 {
		f.Measured = "no member call seen"
		return f
	}
	var late, unknown []string
	lead := time.Duration(-1)
	for pod := range seen {
		g, isGone := gone[pod]
		switch {
		case !isGone || compare(g, d.Calls[0]) == after:
			late = append(late, pod)
		case compare(g, d.Calls[0]) == untold:
			unknown = append(unknown, untoldText(d.Calls[0], pod+" went", g))
		default:
			if l := d.Calls[0].At.Sub(g.At); lead < 0 || l < lead {
				lead = l
			}
		}
	}
	slices.Sort(late)
	slices.Sort(unknown)
	switch {
	case len(seen) == 0:
		f.Measured = "no pod was watched on it"
	case len(late) > 0:
		f.Measured = fmt.Sprintf("member called %s with %s still there", d.Calls[0].moment(), strings.Join(late, ", "))
	case len(unknown) > 0:
		f.Measured = strings.Join(unknown, "; ")
	default:
		f.OK = true
		f.Measured = fmt.Sprintf("pods: %d, the last one gone %s before the call", len(seen), round(lead))
	}
	return f
}

// untoldText says why a check of the order has no result.
func untoldText(call Event, what string, e Event) string {
	return fmt.Sprintf("could not be told: the member was called %s, and %s %s", call.moment(), what, e.moment())
}

// podsOf returns the watched pods of a node and when each went.
func podsOf(events []Event, node string) (seen map[string]bool, gone map[string]Event) {
	seen, gone = map[string]bool{}, map[string]Event{}
	for _, e := range events {
		if e.Node != node {
			continue
		}
		switch e.Kind {
		case PodRunning, PodTerminating:
			seen[e.Object] = true
		case PodGone:
			gone[e.Object] = e
		default:
			// Not about pods.
		}
	}
	return seen, gone
}

// checkNode wants the Node ready from the machine's deletion until its last pod is gone.
func checkNode(events []Event, d Departure) Finding {
	f := Finding{Rule: RuleNodeReady, Subject: d.Machine, OK: true, Measured: "never lost"}
	seen, gone := podsOf(events, d.Node)
	for _, e := range events {
		if e.Kind != NodeNotReady || e.Node != d.Node || e.At.Before(d.Deleting.At) {
			continue
		}
		lost := func(pod string) bool { g, isGone := gone[pod]; return !isGone || compare(e, g) == before }
		if slices.ContainsFunc(slices.Collect(maps.Keys(seen)), lost) {
			f.OK, f.Measured = false, "lost at "+clock(e.At)+": "+e.Detail
			return f
		}
	}
	return f
}

func checkLease(events []Event, d Departure) Finding {
	f := Finding{Rule: RuleFreshLease, Subject: d.Machine}
	if len(d.Calls) == 0 {
		f.Measured = "no member call seen"
		return f
	}
	call := d.Calls[0].earliest()
	var last time.Time
	var worst time.Duration
	for _, e := range events {
		if e.Kind != LeaseRenewed || e.Node != d.Node || e.At.After(call) {
			continue
		}
		if !last.IsZero() {
			worst = max(worst, e.At.Sub(last))
		}
		last = e.At
	}
	if last.IsZero() {
		f.Measured = "no lease was seen"
		return f
	}
	worst = max(worst, call.Sub(last))
	f.OK = worst <= MaxLeaseAge
	f.Measured = "oldest " + round(worst)
	return f
}

func checkCalls(d Departure) Finding {
	var how []string
	for _, c := range d.Calls {
		switch c.Kind {
		case NodeRemoveAsked:
			how = append(how, "annotation at "+clock(c.At))
		default:
			how = append(how, "etcd call at "+clock(c.At))
		}
	}
	return Finding{
		Rule: "exactly one member call", Subject: d.Machine, OK: len(d.Calls) == 1,
		Measured: fmt.Sprintf("%d: %s", len(d.Calls), cmp.Or(strings.Join(how, ", "), "none")),
	}
}

// checkRPCs holds etcd's own count of MemberRemove against the members that went. Counters of a member end with its
// process, so a count may be lost but never made up: the answered calls must not outnumber the members that went, and
// no call may have hit a member that was already gone. Refusals that etcd gives by itself ("unhealthy cluster") are
// reported and are no calls.
func checkRPCs(events []Event) Finding {
	counts := map[string]int{}
	gone := 0
	for _, e := range events {
		switch e.Kind {
		case RemoveRPC:
			var n int
			if _, err := fmt.Sscan(e.Detail, &n); err == nil {
				counts[e.Object] += n
			}
		case MemberGone:
			gone++
		default:
			// Only these are counted.
		}
	}
	f := Finding{Rule: "no MemberRemove beyond the members that went", Subject: "etcd"}
	f.OK = counts["OK"] <= gone && counts["NotFound"] == 0
	f.Measured = fmt.Sprintf("%d members went, MemberRemove answered %s", gone, countText(counts))
	return f
}

func countText(counts map[string]int) string {
	if len(counts) == 0 {
		return "nothing that was counted"
	}
	var parts []string
	for code, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d×", code, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func clock(t time.Time) string { return t.Format("15:04:05.0") }

func round(d time.Duration) string {
	if d < 0 {
		return "-" + round(-d)
	}
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
