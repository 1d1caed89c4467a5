package timeline

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// busy is the departure of a server in the right order on a computer that was too busy to look at it in time: the pod
// went at 67.4 and the member at 69.4; the last reads of the member list are at 60 and 85, and the watches are late.
// The etcd of the other members and the API server put down when it was.
func busy() *script {
	s := &script{}
	s.born("cp-old1", "v1.36.3+rke2r1", Server, -60)
	s.pod("slow-a1", "cp-old1", -20)
	s.add(0, Event{Kind: MachineDeleting, Machine: "cp-old1"})
	s.add(.2, Event{Kind: MachineStep, Machine: "cp-old1", Object: "WaitingForPreDrainHook", Written: at(0)})
	s.add(2, Event{Kind: NodeExcluded, Node: "cp-old1", Written: at(1)})
	s.add(6, Event{Kind: MachineStep, Machine: "cp-old1", Object: "DrainingNode", Written: at(6)})
	s.add(6.5, Event{Kind: PodTerminating, Node: "cp-old1", Object: "default/slow-a1"})
	s.lease("cp-old1", 66.5, 66)
	s.add(72, Event{Kind: PodGone, Node: "cp-old1", Object: "default/slow-a1"})
	s.lease("cp-other", 67.9, 67)
	s.add(70.5, Event{Kind: MachineStep, Machine: "cp-old1", Object: "WaitingForPreTerminateHook", Written: at(69)})
	s.add(69.4, Event{Kind: MemberRemoved, Node: "cp-old1", Object: "cp-old1-0a1b2c3d"})
	s.add(71, Event{Kind: RemoveRPC, Object: "OK", Detail: "1"})
	s.add(71.5, Event{Kind: HookReleased, Machine: "cp-old1", Object: "pre-terminate.example/ours"})
	s.add(73, Event{Kind: MachineStep, Machine: "cp-old1", Object: "WaitingForInfrastructureDeletion", Written: at(72)})
	s.add(82, Event{Kind: MachineGone, Machine: "cp-old1"})
	s.add(85, Event{Kind: MemberGone, Node: "cp-old1", Object: "cp-old1-0a1b2c3d", Since: at(60)})
	// A member that joined later applies the whole history, and notes the removal once more.
	s.add(84, Event{Kind: MemberRemoved, Node: "cp-old1", Object: "cp-old1-0a1b2c3d"})
	return s
}

// lease is a renewal of a kubelet at its own time, which the API server stamped.
func (s *script) lease(node string, renewed, stamped float64) {
	s.revision += 7
	s.add(renewed, Event{Kind: LeaseRenewed, Node: node, Revision: s.revision, Written: at(stamped)})
}

func (s *script) change(kind Kind, change func(*Event)) {
	for i := range s.events {
		if s.events[i].Kind == kind {
			change(&s.events[i])
		}
	}
}

func (s *script) drop(kind Kind) {
	s.events = slices.DeleteFunc(s.events, func(e Event) bool { return e.Kind == kind })
}

func (s *script) waits(change func(*Event)) {
	s.change(MachineStep, func(e *Event) {
		if e.Object == stepBeforeTerminate {
			change(e)
		}
	})
}

func TestABusyComputerIsNoFault(t *testing.T) {
	for _, f := range Violations(CheckLeaving(sorted(busy()))) {
		t.Errorf("%s: %s: %s", f.Subject, f.Rule, f.Measured)
	}
	if stamped, gone := StampedRemovals(busy().events); stamped != 1 || gone != 1 {
		t.Errorf("%d of %d removals have a stamp", stamped, gone)
	}
}

func TestWhatIsCertainOnABusyComputer(t *testing.T) {
	const (
		pods, step = RulePodsFirst, "member call only in WaitingForPreTerminateHook"
		excluded   = "out of the load balancer before the member call"
	)
	for name, tc := range map[string]struct {
		change func(*script)
		rule   string
		// untold is true when the check must say that it does not know, instead of accusing.
		untold bool
	}{
		"member went before the pod": {func(s *script) {
			s.change(MemberRemoved, func(e *Event) { e.At = e.At.Add(-5 * time.Second) })
		}, pods, false},
		"member went during the drain": {func(s *script) {
			s.change(MemberRemoved, func(e *Event) { e.At = e.At.Add(-5 * time.Second) })
		}, step, false},
		"member went a moment before the second of the step": {func(s *script) {
			s.change(MemberRemoved, func(e *Event) { e.At = e.At.Add(-500 * time.Millisecond) })
		}, step, false},
		"pod never went": {func(s *script) { s.drop(PodGone) }, pods, false},
		"member went after the Machine had gone on": {func(s *script) {
			s.change(MemberRemoved, func(e *Event) { e.At = e.At.Add(6 * time.Second) })
		}, step, false},
		"taken out too late": {func(s *script) {
			s.change(NodeExcluded, func(e *Event) { e.At, e.Written = at(74), at(70) })
		}, excluded, false},
		"two calls: etcd directly, then the annotation": {func(s *script) {
			s.add(71, Event{Kind: NodeRemoveAsked, Node: "cp-old1", Written: at(70)})
		}, "exactly one member call", false},

		"no log, only the list: pods": {func(s *script) { s.drop(MemberRemoved) }, pods, true},
		"no log, only the list: step": {func(s *script) { s.drop(MemberRemoved) }, step, true},
		"pod seen late and no write after it": {func(s *script) {
			s.events = slices.DeleteFunc(s.events, func(e Event) bool { return e.Kind == LeaseRenewed && e.Node == "cp-other" })
		}, pods, true},
		"step seen late, without a stamp": {func(s *script) {
			s.waits(func(e *Event) { e.Written, e.Since = time.Time{}, at(66) })
		}, step, true},
		"exclusion without a stamp": {func(s *script) {
			s.change(NodeExcluded, func(e *Event) { e.At, e.Written, e.Since, e.Revision = at(74), time.Time{}, at(1), 0 })
		}, excluded, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := busy()
			tc.change(s)
			bad := Violations(CheckLeaving(sorted(s)))
			i := slices.IndexFunc(bad, func(f Finding) bool { return f.Rule == tc.rule })
			if i < 0 {
				t.Fatalf("not found: %q in %v", tc.rule, bad)
			}
			if untold := strings.Contains(bad[i].Measured, "could not be told"); untold != tc.untold {
				t.Errorf("measured %q", bad[i].Measured)
			}
		})
	}
}

// The API server stamps seconds: the annotation and the steps before and after it may carry the same one.
func TestAnAnnotationInTheSecondOfItsStep(t *testing.T) {
	s := busy()
	s.drop(MemberRemoved)
	s.drop(HookReleased)
	s.add(72.1, Event{Kind: NodeRemoveAsked, Node: "cp-old1", Written: at(71)})
	s.waits(func(e *Event) { e.At, e.Written = at(71.7), at(71) })
	s.add(72.7, Event{Kind: MachineStep, Machine: "cp-old1", Object: "WaitingForInfrastructureDeletion", Written: at(72)})
	for _, f := range Violations(CheckLeaving(sorted(s))) {
		t.Errorf("%s: %s: %s", f.Subject, f.Rule, f.Measured)
	}
	s.waits(func(e *Event) { e.At, e.Written = at(73.2), at(73) })
	s.change(MachineStep, func(e *Event) {
		if e.Object == "WaitingForInfrastructureDeletion" {
			e.At, e.Written = at(74.2), at(74)
		}
	})
	bad := Violations(CheckLeaving(sorted(s)))
	if len(bad) != 1 || bad[0].Measured != "reason at the call: DrainingNode" {
		t.Errorf("the call came a second too early: %v", bad)
	}
}

// The annotation came first: its effect on the member list is no second call, however late the watch told of it.
func TestAnAnnotationThatWasSeenLate(t *testing.T) {
	s := busy()
	s.add(79, Event{Kind: NodeRemoveAsked, Node: "cp-old1", Written: at(69)})
	departures := Departures(sorted(s))
	if len(departures) != 1 || len(departures[0].Calls) != 1 || departures[0].Calls[0].Kind != NodeRemoveAsked {
		t.Errorf("departures %+v", departures)
	}
}

func TestDatedIsStable(t *testing.T) {
	once := dated(sorted(busy()))
	if twice := dated(once); !slices.Equal(once, twice) {
		t.Errorf("dated again:\n%v\nwant\n%v", twice, once)
	}
	for _, e := range once {
		if e.earliest().After(e.At) {
			t.Errorf("%s ends before it begins: %+v", e.Kind, e)
		}
	}
}
