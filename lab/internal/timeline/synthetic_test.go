package timeline

import (
	"fmt"
	"time"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return zero.Add(time.Duration(seconds * float64(time.Second)))
}

// script builds a log of a rolling upgrade second by second.
type script struct {
	events   []Event
	revision int64
}

func (s *script) add(seconds float64, e Event) {
	e.At = at(seconds)
	switch e.Kind {
	case NodeReady, NodeNotReady, NodeExcluded, NodeRemoveAsked, PodRunning, PodTerminating, PodGone:
		s.revision += 7
		e.Revision = s.revision
	}
	s.events = append(s.events, e)
}

func (s *script) born(name, version string, role Role, from float64) {
	s.add(from, Event{Kind: MachineCreated, Machine: name, Role: role, Version: version})
	s.add(from+4, Event{Kind: MachineBooted, Machine: name})
	if role == Server {
		s.add(from+9, Event{Kind: MemberAdded, Node: name, Object: name + "-0a1b2c3d", Detail: "learner"})
		s.add(from+11, Event{Kind: MemberVoter, Node: name, Object: name + "-0a1b2c3d"})
	}
	s.add(from+17, Event{Kind: MachineJoined, Machine: name, Node: name})
	s.add(from+19, Event{Kind: NodeReady, Node: name})
}

func (s *script) pod(name, node string, from float64) {
	s.add(from, Event{Kind: PodRunning, Node: node, Object: "default/" + name})
}

// leaves plays the departure of a server in the right order and returns when its machine is gone.
func (s *script) leaves(name, pod, heir string, from float64) float64 {
	s.add(from, Event{Kind: MachineDeleting, Machine: name})
	s.add(from+.2, Event{Kind: MachineStep, Machine: name, Object: "WaitingForPreDrainHook"})
	s.add(from+.6, Event{Kind: NodeExcluded, Node: name})
	s.add(from+6, Event{Kind: MachineStep, Machine: name, Object: "DrainingNode", Detail: "Pod default/" + pod})
	s.add(from+6.5, Event{Kind: PodTerminating, Node: name, Object: "default/" + pod})
	for t := from - 20; t < from+72; t += 10 {
		s.add(t, Event{Kind: LeaseRenewed, Node: name})
	}
	s.add(from+67, Event{Kind: PodGone, Node: name, Object: "default/" + pod})
	s.add(from+70, Event{Kind: MachineStep, Machine: name, Object: "WaitingForPreTerminateHook"})
	s.add(from+70.4, Event{Kind: LeaderChanged, Node: heir, Object: heir + "-0a1b2c3d"})
	s.add(from+70.9, Event{Kind: NodeRemoveAsked, Node: name})
	gone := Event{Kind: MemberGone, Node: name, Object: name + "-0a1b2c3d", Since: at(from + 71)}
	s.add(from+71.2, gone)
	s.add(from+71.3, Event{Kind: RemoveRPC, Object: "OK", Detail: "1"})
	s.add(from+71.5, Event{Kind: HookReleased, Machine: name, Object: "pre-terminate.example/ours"})
	s.add(from+72, Event{Kind: NodeNotReady, Node: name, Detail: "NodeStatusUnknown"})
	s.add(from+76, Event{Kind: MachineGone, Machine: name})
	return from + 76
}

// upgrade is a whole rolling upgrade of three servers and a worker, as it should go.
func upgrade() *script {
	s := &script{}
	for i := range 3 {
		name := fmt.Sprintf("cp-old%d", i+1)
		s.born(name, "v1.36.3+rke2r1", Server, float64(i)*25)
		s.pod(fmt.Sprintf("slow-a%d", i+1), name, 100)
	}
	s.born("md-worker1", "v1.36.3+rke2r1", Worker, 30)
	s.add(104, Event{Kind: Note, Detail: "version set to v1.36.3+rke2r2"})
	next := 105.0
	for i := range 3 {
		heir := fmt.Sprintf("cp-new%d", i+1)
		s.born(heir, "v1.36.3+rke2r2", Server, next)
		s.pod(fmt.Sprintf("slow-b%d", i+1), heir, next+29)
		next = s.leaves(fmt.Sprintf("cp-old%d", i+1), fmt.Sprintf("slow-a%d", i+1), heir, next+22) + 1
	}
	s.events = append(s.events, Event{Kind: ClientGap, Object: "writer", Since: at(198), At: at(199.2)})
	return s
}

// reversed is the departure of one server whose member is removed first.
func reversed() *script {
	s := &script{}
	s.born("cp-old1", "v1.36.3+rke2r1", Server, 0)
	s.pod("slow-a1", "cp-old1", 25)
	s.events = append(s.events, Event{Kind: MemberGone, Node: "cp-old1", Object: "cp-old1-0a1b2c3d", Since: at(29.8), At: at(30)})
	s.add(31, Event{Kind: MachineDeleting, Machine: "cp-old1"})
	s.add(32, Event{Kind: MachineStep, Machine: "cp-old1", Object: "DrainingNode"})
	s.add(33, Event{Kind: PodTerminating, Node: "cp-old1", Object: "default/slow-a1"})
	s.add(20, Event{Kind: LeaseRenewed, Node: "cp-old1"})
	s.add(85, Event{Kind: NodeNotReady, Node: "cp-old1", Detail: "NodeStatusUnknown"})
	return s
}
