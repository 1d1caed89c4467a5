package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	admission "github.com/drover-project/drover/internal/admission/controlplane"
	"github.com/drover-project/drover/internal/explain"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/report"
	"github.com/drover-project/drover/internal/sim"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
)

// planning is what the flags of plan say.
type planning struct {
	access   access
	output   output
	version  string
	replicas int32
}

func planCommand() *cobra.Command {
	p := &planning{}
	c := &cobra.Command{
		Use:   "plan CLUSTER",
		Short: "List every step that a change would take, before it is made",
		Long: `List every step that a change would take, before it is made, machine by machine. Without a change it lists what
is still to come.

The manager's own planner decides on what is there now, and a model of core, the infrastructure, RKE2 and etcd in which
nothing fails does the rest. Nothing is changed. New Machines are called new-1, new-2 and so on.

Exit codes: 0 in the end everything is as wished, 1 failure, 4 the change is refused, or something has to be done by
somebody before it can end.`,
		Example: "  kubectl drover plan prod -n shop --version v1.36.3+rke2r1\n  kubectl drover plan prod --replicas 5\n  kubectl drover plan prod",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.output.check(); err != nil {
				return err
			}
			s, err := p.access.open(args[0])
			if err != nil {
				return err
			}
			var replicas *int32
			if cmd.Flags().Changed("replicas") {
				replicas = &p.replicas
			}
			return p.run(cmd.Context(), s, replicas, cmd.OutOrStdout())
		},
	}
	p.access.add(c.Flags())
	p.output.add(c.Flags())
	c.Flags().StringVar(&p.version, "version", "", "the RKE2 version that the control plane would be given")
	c.Flags().Int32Var(&p.replicas, "replicas", 0, "the number of servers that it would be given")
	return c
}

func (p *planning) run(ctx context.Context, s *session, replicas *int32, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	result := outlook{}
	v, err := s.see(ctx, func(sc *scope.Scope) error { return result.change(sc, p.version, replicas) })
	if errors.Is(err, errHeldUp) {
		if err := p.output.write(out, result); err != nil {
			return err
		}
		return errHeldUp
	}
	if err != nil {
		return lacking(fmt.Errorf("plan: %w", err), s.denied.Denied())
	}
	result.Paused, result.Denied = paused(v.scope), s.denied.Denied()
	s.findRemover(ctx, v)
	result.assume(v.snapshot)
	forecast, err := sim.Foresee(v.snapshot, nil)
	if err != nil {
		return lacking(fmt.Errorf("plan: %w", err), s.denied.Denied())
	}
	result.Forecast = *forecast
	if err := p.output.write(out, result); err != nil {
		return err
	}
	if !result.Settled && !result.Gone {
		return errHeldUp
	}
	return nil
}

// findRemover notes which server serves RKE2's removal annotations. The Observer
// looks at that only while somebody leaves.
func (s *session) findRemover(ctx context.Context, v *seen) {
	session, err := s.connector.Open(ctx, v.scope)
	if err != nil {
		return // then nothing is forecast either
	}
	holder, err := session.Workload.LeaseHolder(ctx, workload.RemovalLease)
	if err != nil {
		return // then it is taken for another server, as the manager does
	}
	for i := range v.snapshot.Machines {
		if m := &v.snapshot.Machines[i]; m.NodeName == holder && m.Node.Known {
			m.Node.Value.RemovesMembers = true
		}
	}
}

// assume names the members that could not be asked: the forecast takes them to
// work.
func (o *outlook) assume(s model.Snapshot) {
	for _, m := range s.Etcd.Members.Value {
		if what, sure := m.Trouble(); !sure {
			o.Warnings = append(o.Warnings, fmt.Sprintf("etcd member %s is taken to work, but it %s", m.Label(), what))
		}
	}
}

// outlook is the result of plan.
type outlook struct {
	Namespace    string `json:"namespace"`
	Cluster      string `json:"cluster"`
	ControlPlane string `json:"controlPlane"`
	// Changes are what would be changed, each as "field: before -> after".
	Changes []string `json:"changes,omitzero"`
	// Refused are the reasons for which admission would refuse the change, and
	// Warnings what it would warn about.
	Refused  []string `json:"refused,omitzero"`
	Warnings []string `json:"warnings,omitzero"`
	// Paused is what keeps the plan from being carried out now.
	Paused []string       `json:"paused,omitzero"`
	Denied []model.Denied `json:"denied,omitzero"`
	sim.Forecast
}

// change makes the change to what was read and asks admission about it. The
// error is errHeldUp when it is refused.
func (o *outlook) change(sc *scope.Scope, version string, replicas *int32) error {
	stored := sc.ControlPlane
	o.Namespace, o.Cluster, o.ControlPlane = stored.Namespace, sc.Cluster.Name, stored.Name
	changed := stored.DeepCopy()
	if version != "" && version != stored.Spec.Version {
		changed.Spec.Version = version
		o.Changes = append(o.Changes, fmt.Sprintf("spec.version: %s -> %s", stored.Spec.Version, version))
	}
	if replicas != nil && *replicas != stored.Spec.ReplicasOrDefault() {
		changed.Spec.Replicas = replicas
		o.Changes = append(o.Changes, fmt.Sprintf("spec.replicas: %d -> %d", stored.Spec.ReplicasOrDefault(), *replicas))
	}
	if len(o.Changes) == 0 {
		return nil
	}
	if _, managed := stored.Labels[clusterv1.ClusterTopologyOwnedLabel]; managed {
		o.Warnings = append(o.Warnings, "the control plane belongs to a ClusterClass: make the change in spec.topology of the Cluster")
	}
	admission.Default(&changed.Spec)
	// Whether references to other namespaces are allowed is the manager's own
	// affair, and no change that is asked for here.
	found := admission.Validate(stored, changed, true)
	for _, e := range found.Errors {
		o.Refused = append(o.Refused, e.Error())
	}
	o.Warnings = append(o.Warnings, found.Warnings...)
	if len(o.Refused) > 0 {
		o.Events = []sim.Event{}
		return errHeldUp
	}
	sc.ControlPlane = changed
	return nil
}

// Text writes the plan with a heading for each server.
func (o outlook) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Plan for cluster %s/%s, control plane %s", o.Namespace, o.Cluster, o.ControlPlane)
	if len(o.Changes) > 0 {
		fmt.Fprintf(&b, ", with %s", strings.Join(o.Changes, ", "))
	}
	b.WriteString("\n")
	for _, w := range o.Warnings {
		fmt.Fprintf(&b, "Warning: %s\n", w)
	}
	for _, reason := range o.Paused {
		fmt.Fprintf(&b, "Paused: %s; nothing is done before that is taken off\n", reason)
	}
	for _, reason := range o.Refused {
		fmt.Fprintf(&b, "REFUSED: %s\n", reason)
	}
	if len(o.Refused) > 0 {
		return b.String()
	}
	o.writeEvents(&b)
	o.writeEnd(&b)
	explain.WriteDenied(&b, o.Denied)
	return b.String()
}

func (o outlook) writeEvents(b *strings.Builder) {
	server := "\x00" // no server's name
	for i, e := range o.Events {
		if e.Server != server {
			server = e.Server
			heading := "Machine " + server
			if server == "" {
				heading = "The control plane"
			}
			fmt.Fprintf(b, "\n%s\n", heading)
		}
		rule := ""
		if e.Rule != "" {
			rule = " [" + e.Rule + "]"
		}
		fmt.Fprintf(b, "%4d. %-15s%s%s\n", i+1, e.By, e.Text, rule)
	}
	b.WriteString("\n")
}

func (o outlook) writeEnd(b *strings.Builder) {
	switch {
	case len(o.Events) == 0 && o.Settled:
		b.WriteString("Nothing is to be done.\n")
		return
	case o.Settled:
		b.WriteString("In the end everything is as wished.\n")
	case o.Gone:
		b.WriteString("In the end the control plane is gone.\n")
	default:
		b.WriteString("It does not get further by itself. In the end it waits for:\n")
		for _, w := range o.Waits {
			fmt.Fprintf(b, "  %s\n", report.WaitText(w))
		}
	}
	t := o.Totals
	fmt.Fprintf(b, "Servers replaced %d, created %d, deleted %d; members removed by RKE2 %d, by a call to another voter %d; leader moves %d.\n",
		t.Replaced, t.Created, t.Deleted, t.AskedRKE2, t.MemberCalls, t.LeaderMoves)
}
