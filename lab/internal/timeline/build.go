package timeline

import (
	"slices"
	"time"
)

// Build turns events into a chart that ends at end. Events need not be ordered. Clients named in clients get a row
// even when they had no gap.
func Build(events []Event, end time.Time, clients ...string) Chart {
	events = dated(events)
	b := &builder{machineOf: map[string]string{}, rows: map[string]*building{}, chart: Chart{End: end}}
	for _, name := range clients {
		b.chart.Clients = append(b.chart.Clients, Client{Name: name})
	}
	for _, e := range events {
		if e.Kind == MachineJoined {
			b.machineOf[e.Node] = e.Machine
		}
	}
	for _, e := range events {
		if e.Kind != LeaseRenewed && (b.chart.Start.IsZero() || e.At.Before(b.chart.Start)) {
			b.chart.Start = e.At
		}
		b.take(e)
	}
	for _, name := range b.order {
		r := b.rows[name]
		if !r.row.Gone {
			r.close(end)
		}
		b.chart.Rows = append(b.chart.Rows, r.row)
	}
	return b.chart
}

type builder struct {
	chart     Chart
	machineOf map[string]string
	rows      map[string]*building
	order     []string
}

// building is a row whose last phase is still open.
type building struct {
	row       Row
	open      Phase
	voter     bool
	nodeReady bool
}

func (b *builder) rowOf(e Event) *building {
	name := e.Machine
	if name == "" {
		name = b.machineOf[e.Node]
	}
	return b.rows[name]
}

func (b *builder) take(e Event) {
	switch e.Kind {
	case Note:
		b.chart.Remarks = append(b.chart.Remarks, Remark{At: e.At, Text: e.Detail})
	case ClientGap:
		b.addGap(e)
	case MachineCreated:
		if _, known := b.rows[e.Machine]; known {
			return
		}
		b.rows[e.Machine] = &building{
			row:  Row{Machine: e.Machine, Node: e.Node, Role: e.Role, Version: e.Version},
			open: Phase{Kind: Provisioning, From: e.At},
		}
		b.order = append(b.order, e.Machine)
	default:
		if r := b.rowOf(e); r != nil && !r.row.Gone {
			r.mark(e)
			r.advance(e)
		}
	}
}

func (b *builder) addGap(e Event) {
	i := slices.IndexFunc(b.chart.Clients, func(c Client) bool { return c.Name == e.Object })
	if i < 0 {
		b.chart.Clients = append(b.chart.Clients, Client{Name: e.Object})
		i = len(b.chart.Clients) - 1
	}
	b.chart.Clients[i].Gaps = append(b.chart.Clients[i].Gaps, Gap{From: e.earliest(), To: e.At})
}

// markOf tells which events are drawn as marks.
var markOf = map[Kind]MarkKind{
	MemberAdded: MarkMemberAdded, MemberVoter: MarkMemberVoter, MemberGone: MarkMemberGone, LeaderChanged: MarkLeader,
	NodeRemoveAsked: MarkRemoveAsked, PodGone: MarkPodGone, NodeNotReady: MarkNodeNotReady,
}

func (r *building) mark(e Event) {
	kind, drawn := markOf[e.Kind]
	if !drawn {
		return
	}
	if e.Kind == NodeNotReady && (!r.nodeReady || r.open.Kind == Deleting) {
		return // it was never ready, or its machine is being ended: nothing to lose
	}
	if e.Kind == MemberAdded && e.Detail == "voter" {
		kind = MarkMemberVoter // it was promoted between two looks at the member list
	}
	r.row.Marks = append(r.row.Marks, Mark{Kind: kind, At: e.At, Label: e.Object})
}

// advance moves the row to the phase that an event opens. Phases only go forward.
func (r *building) advance(e Event) {
	switch e.Kind {
	case MachineBooted:
		r.enter(Joining, e)
	case MachineJoined:
		r.row.Node = e.Node
	case NodeReady:
		r.nodeReady = true
		r.serveWhenComplete(e)
	case MemberAdded:
		r.voter = e.Detail == "voter"
		r.serveWhenComplete(e)
	case MemberVoter:
		r.voter = true
		r.serveWhenComplete(e)
	case NodeExcluded:
		r.enter(Excluded, e)
	case MachineStep:
		if phase, ok := phaseOfStep[e.Object]; ok {
			r.enter(phase, e)
		}
	case NodeRemoveAsked, MemberGone:
		// Only from our hook: a member that goes earlier is a mark on whatever the machine was doing then.
		if r.open.Kind == Hook {
			r.enter(Removing, e)
		}
	case HookReleased:
		if r.open.Kind == Hook || r.open.Kind == Removing {
			r.enter(Deleting, e)
		}
	case MachineGone:
		r.row.Gone = true
		r.close(e.At)
	default:
		// Nothing else begins a phase.
	}
}

// phaseOfStep maps the reasons of CAPI's Deleting condition (cluster-api v1.14 api/core/v1beta2) to phases.
var phaseOfStep = map[string]PhaseKind{
	"WaitingForPreDrainHook": Excluded, "DrainingNode": Draining, "WaitingForVolumeDetach": Draining,
	"WaitingForPreTerminateHook": Hook, "WaitingForInfrastructureDeletion": Deleting,
	"WaitingForBootstrapDeletion": Deleting, "DeletingNode": Deleting,
}

func (r *building) serveWhenComplete(e Event) {
	if r.nodeReady && (r.voter || r.row.Role == Worker) {
		r.enter(Serving, e)
	}
}

func (r *building) enter(k PhaseKind, e Event) {
	if slices.Index(Phases(), k) <= slices.Index(Phases(), r.open.Kind) {
		return
	}
	r.close(e.At)
	r.open = Phase{Kind: k, From: e.At, Detail: e.Detail}
}

func (r *building) close(at time.Time) {
	if r.open.Kind == "" {
		return
	}
	p := r.open
	p.To = at
	if p.To.Before(p.From) {
		p.To = p.From
	}
	r.row.Phases = append(r.row.Phases, p)
}
