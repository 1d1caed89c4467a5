package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/explain"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
	"github.com/drover-project/drover/internal/report"
	"github.com/drover-project/drover/internal/world/obstacle"
	"github.com/drover-project/drover/internal/world/permission"
	"github.com/drover-project/drover/internal/world/scope"
)

// seen is one look at a control plane.
type seen struct {
	scope    *scope.Scope
	snapshot model.Snapshot
	said     report.Said
}

// see reads everything and makes a Snapshot with the manager's own Observer. A
// change, unless it is nil, is made to what was read before.
func (s *session) see(ctx context.Context, change func(*scope.Scope) error) (*seen, error) {
	s.denied.Clear()
	sc, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	if change != nil {
		if err := change(sc); err != nil {
			return nil, err
		}
	}
	snapshot, err := s.observer.Observe(ctx, sc)
	if err != nil {
		return nil, err
	}
	out := &seen{scope: sc, snapshot: snapshot, said: report.Read(sc.ControlPlane.Status.Conditions)}
	s.complete(out)
	return out, nil
}

// complete fills in what the operator may not see and the manager has reported,
// so that a missing permission of his is not taken for what is waited for.
func (s *session) complete(v *seen) {
	cluster := &v.snapshot.Cluster
	if !cluster.Certificates.Known {
		if c := conditions.Get(v.scope.ControlPlane, controlplanev1.CertificatesAvailableCondition); c != nil && c.Status != "Unknown" {
			cluster.Certificates, cluster.CertificateProblem = model.Known(c.Status == "True", v.snapshot.Now), c.Message
		}
	}
	if !cluster.Template.Known && apierrors.IsForbidden(v.scope.Template.Err) {
		cluster.Template = model.Known(true, v.snapshot.Now)
	}
	for _, w := range v.said.Waits {
		for _, b := range w.Blockers {
			if b.Kind == "registration address" {
				cluster.Registration, cluster.RegistrationAddress = model.Known(false, v.snapshot.Now), b.Name
			}
		}
	}
	denied := s.denied.Denied()
	for i := range v.snapshot.Machines {
		m := &v.snapshot.Machines[i]
		if refuses(denied, permission.Management, "") {
			outdated(m, v.scope.Machines[m.Name])
		}
		if refuses(denied, permission.Workload, "pods") {
			m.Components = nil
		}
	}
}

// refuses tells whether anything of a cluster may not be read, or a resource of
// it.
func refuses(denied []model.Denied, cluster, resource string) bool {
	return slices.ContainsFunc(denied, func(d model.Denied) bool { return d.Cluster == cluster && (resource == "" || d.Resource == resource) })
}

// outdated takes the reasons from the Machine's condition.
func outdated(m *model.Machine, from *clusterv1.Machine) {
	c := conditions.Get(from, controlplanev1.MachineUpToDateCondition)
	if len(m.Outdated) > 0 || c == nil || c.Status != "False" {
		return
	}
	for line := range strings.Lines(c.Message) {
		m.Outdated = append(m.Outdated, strings.TrimPrefix(strings.TrimSpace(line), "* "))
	}
}

// blind says why the workload cluster or etcd could not be looked into, empty
// when they were.
func (v *seen) blind() string {
	s := v.snapshot
	switch {
	case !s.ControlPlane.Initialized, len(s.Machines) == 0:
		return ""
	case !s.ControlPlane.ExternalDatastore && !s.Etcd.Members.Known:
		return "etcd can't be asked: " + s.Etcd.Members.Reason
	}
	for _, m := range s.Machines {
		if m.NodeName == "" || m.Node.Known {
			return ""
		}
	}
	return "the workload cluster can't be read: " + s.Machines[0].Node.Reason
}

// explain makes the Explanation of what was seen.
func (s *session) explain(ctx context.Context) (explain.Explanation, error) {
	v, err := s.see(ctx, nil)
	if err != nil {
		return explain.Explanation{}, err
	}
	in := explain.Input{
		Snapshot: v.snapshot, Decision: plan.Decide(v.snapshot), Blind: v.blind(), Paused: paused(v.scope),
		Reported: explain.Reported{Waits: v.said.Waits, Failures: v.said.Failures, Settled: v.said.Settled, Health: v.said.Health},
	}
	finder := obstacle.Finder{Client: s.client}
	if v.scope.SomeoneLeaves() {
		if session, err := s.connector.Open(ctx, v.scope); err == nil {
			finder.Workload = session.Workload
		}
	}
	in.Obstacles, _ = finder.Find(ctx, v.scope, v.snapshot) // what could not be read was denied, or is in Blind
	in.Denied = s.denied.Denied()
	return explain.Explain(in), nil
}

// paused names what pauses a control plane, and since when.
func paused(s *scope.Scope) []string {
	since := ""
	if c := conditions.Get(s.ControlPlane, clusterv1.PausedCondition); c != nil && c.Status == "True" {
		since = " (since " + c.LastTransitionTime.UTC().Format("2006-01-02 15:04:05 UTC") + ")"
	}
	var out []string
	if ptr.Deref(s.Cluster.Spec.Paused, false) {
		out = append(out, fmt.Sprintf("Cluster %s has spec.paused: true%s", s.ClusterKey(), since))
	}
	if annotations.HasPaused(s.ControlPlane) {
		out = append(out, fmt.Sprintf("RKE2ControlPlane %s/%s has the annotation %s%s", s.ControlPlane.Namespace, s.ControlPlane.Name, clusterv1.PausedAnnotation, since))
	}
	return out
}
