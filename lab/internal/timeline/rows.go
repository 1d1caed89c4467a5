package timeline

import (
	"slices"
	"time"
)

// PhaseKind is one stretch in the life of a machine.
type PhaseKind string

// The phases, in the order in which a machine passes through them.
const (
	Provisioning PhaseKind = "provisioning"
	Joining      PhaseKind = "joining"
	Serving      PhaseKind = "serving"
	Excluded     PhaseKind = "out of the load balancer"
	Draining     PhaseKind = "draining"
	Hook         PhaseKind = "waiting in our hook"
	Removing     PhaseKind = "member removal"
	Deleting     PhaseKind = "deleting"
)

// Phases lists all phases in order.
func Phases() []PhaseKind {
	return []PhaseKind{Provisioning, Joining, Serving, Excluded, Draining, Hook, Removing, Deleting}
}

// Phase is one bar of a row.
type Phase struct {
	Kind     PhaseKind
	From, To time.Time
	Detail   string
}

// MarkKind is the sort of a Mark.
type MarkKind string

// The sorts of marks.
const (
	MarkMemberAdded  MarkKind = "member added"
	MarkMemberVoter  MarkKind = "member is a voter"
	MarkRemoveAsked  MarkKind = "removal asked"
	MarkMemberGone   MarkKind = "member gone"
	MarkLeader       MarkKind = "leader"
	MarkPodGone      MarkKind = "pod gone"
	MarkNodeNotReady MarkKind = "node not ready"
)

// MarkKinds lists all sorts of marks.
func MarkKinds() []MarkKind {
	return []MarkKind{MarkMemberAdded, MarkMemberVoter, MarkLeader, MarkPodGone, MarkRemoveAsked, MarkMemberGone, MarkNodeNotReady}
}

// Mark is one moment on a row.
type Mark struct {
	Kind  MarkKind
	At    time.Time
	Label string
}

// Row is the life of one machine.
type Row struct {
	Machine string
	Node    string
	Role    Role
	Version string
	Phases  []Phase
	Marks   []Mark
	// Gone says that the Machine object was gone before the run ended.
	Gone bool
}

// Phase returns the row's phase of that kind and whether it has one.
func (r Row) Phase(k PhaseKind) (Phase, bool) {
	i := slices.IndexFunc(r.Phases, func(p Phase) bool { return p.Kind == k })
	if i < 0 {
		return Phase{}, false
	}
	return r.Phases[i], true
}

// Gap is a stretch in which a client got no answer.
type Gap struct{ From, To time.Time }

// Client is a row of client gaps.
type Client struct {
	Name string
	Gaps []Gap
}

// Remark is something the run itself did.
type Remark struct {
	At   time.Time
	Text string
}

// Chart is a whole run, ready to be drawn.
type Chart struct {
	Start, End time.Time
	Rows       []Row
	Clients    []Client
	Remarks    []Remark
}
