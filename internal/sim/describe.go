package sim

import (
	"fmt"
	"strings"
)

// describe says what is with every server, and what the planner makes of it.
func (t *teller) describe(w *World) []string {
	var out []string
	for i, s := range w.Servers {
		if s != 0 {
			out = append(out, t.names[i]+": "+s.String())
		}
	}
	if !w.Quorum() {
		out = append(out, "etcd has no quorum")
	}
	v := look(w)
	names := naming(0, 0)
	for i := range names.Machine {
		if t.names[i] != "" {
			names.Machine[i] = t.names[i]
		}
	}
	d := t.memo.decide(v.Snapshot(&names))
	switch {
	case d.Action != nil:
		out = append(out, fmt.Sprintf("Drover would %s (%s)", d.Action.Describe(), d.Rule))
	case d.Settled():
		out = append(out, "Drover is content")
	}
	for _, wait := range d.Waits {
		out = append(out, fmt.Sprintf("Drover waits (%s): %s", wait.Rule, wait.Message))
	}
	return out
}

// String describes a server in a line.
func (s Server) String() string {
	var parts []string
	say := func(ok bool, text string) {
		if ok {
			parts = append(parts, text)
		}
	}
	parts = append(parts, [...]string{"no Machine", "Machine", "Machine being deleted"}[s.Machine()])
	if s.Machine() == Deleting {
		parts[0] += [...]string{"", " (waits for the pre-drain hook)", " (drains)", " (waits for the pre-terminate hook)", " (host goes)", " (Node goes)"}[s.Phase()]
	}
	say(s.Machine() != NoMachine && !s.has(PreDrainHook), "without pre-drain hook")
	say(s.Machine() != NoMachine && !s.has(PreTerminateHook), "without pre-terminate hook")
	say(s.has(ForeignHook), "with a hook of somebody else")
	say(s.has(Outdated), "outdated")
	parts = append(parts, "host "+[...]string{"being made", "up", "frozen", "dead", "gone"}[s.Host()])
	say(s.Machine() != NoMachine && s.Host() != Unprovisioned && !s.has(Provisioned), "not reported")
	say(s.has(KubeletDead), "kubelet dead")
	say(s.has(Corrupt), "etcd broken")
	say(s.has(TornDown), "static pods stopped")
	parts = append(parts, [...]string{"no Node", "Node Ready", "Node not Ready", "Node not Ready for long"}[s.Node()])
	say(s.terminating(), "its Node was deleted and is still there")
	say(s.Node() == NoNode && s.has(NodeRef), "its Node was deleted")
	say(s.Excluded() != Included, [...]string{"", "just out of load balancers", "out of load balancers"}[s.Excluded()])
	say(s.Asked() != NotAsked, [...]string{"", "RKE2 just asked", "RKE2 asked a while ago", "RKE2 asked long ago"}[s.Asked()])
	say(s.has(RemovesMembers), "runs RKE2's removal controller")
	parts = append(parts, [...]string{"no member", "unstarted learner", "learner", "voter"}[s.Member()])
	say(s.has(Leader), "leads")
	return strings.Join(parts, ", ")
}
