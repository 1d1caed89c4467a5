// Package report turns what was observed and what was decided into what
// people and Cluster API read: conditions, counters and other status, events
// and metric labels.
//
// It is pure: the same Input gives the same Report. Everything it says comes
// from the one Snapshot the decision was made on, so that the reasons shown
// are the reasons that held. Texts hold no ages and no counters that change
// with every look; a Report of an unchanged world equals the last one.
package report

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

// Input is what a Report is made from. Nothing of it is changed.
type Input struct {
	// ControlPlane is the object as it was read, with its last status.
	ControlPlane *controlplanev1.RKE2ControlPlane
	// Cluster is the owner.
	Cluster *clusterv1.Cluster
	// Machines are the owned Machines, with the conditions core set.
	Machines []*clusterv1.Machine
	// Snapshot and Decision are the last of the reconcile.
	Snapshot model.Snapshot
	Decision model.Decision
	// Order names the Machines that are to go, the next one first.
	Order []string
	// Held are the waits that hold rollouts as a whole.
	Held []model.Wait
	// LastContact is when the workload API last answered a health probe. Zero
	// when it never did.
	LastContact time.Time
	// Failures are what failed in this reconcile, each a sentence.
	Failures []string
}

// Report is the result.
type Report struct {
	// Status is the whole new status of the control plane.
	Status controlplanev1.RKE2ControlPlaneStatus
	// MachineConditions are, by Machine name, the conditions of Machines that
	// the control plane owns.
	MachineConditions map[string][]metav1.Condition
}

// ContactGrace is for how long the last known conditions stand when the
// workload API can't be reached. Cluster API's health probe gives up after
// 50 s; a load balancer that switches over takes less.
const ContactGrace = 2 * time.Minute

// Make returns the Report.
func Make(in Input) Report {
	in.Machines = slices.Clone(in.Machines)
	slices.SortFunc(in.Machines, func(a, b *clusterv1.Machine) int { return compare(a.Name, b.Name) })
	r := reporter{Input: in}
	status := *in.ControlPlane.Status.DeepCopy()
	if r.initialized() {
		yes := true
		status.Initialization.ControlPlaneInitialized = &yes
	}
	machineConditions := map[string][]metav1.Condition{}
	for _, m := range in.Machines {
		machineConditions[m.Name] = r.machineConditions(m)
	}
	r.machines = withConditions(in.Machines, machineConditions, in.Snapshot.Now)
	r.counters(&status)
	status.ObservedGeneration = in.ControlPlane.Generation
	status.Selector = selector(in.Cluster.Name)
	status.AvailableServerIPs = r.serverAddresses()
	status.LastRemediation = r.lastRemediation()
	status.Rollout = r.rollout()
	for _, c := range r.conditions() {
		set(&status.Conditions, c, in.ControlPlane.Generation, in.Snapshot.Now)
	}
	if r.Snapshot.ControlPlane.ExternalDatastore {
		status.Conditions = remove(status.Conditions, controlplanev1.EtcdClusterHealthyCondition)
	}
	return Report{Status: status, MachineConditions: machineConditions}
}

type reporter struct {
	Input
	// machines are copies of the Machines with the new conditions on them.
	machines []*clusterv1.Machine
}

func (r reporter) conditions() []metav1.Condition {
	out := []metav1.Condition{
		r.initializedCondition(),
		r.certificates(),
		r.components(),
		r.machinesReady(),
		r.machinesUpToDate(),
		r.remediating(),
	}
	if !r.Snapshot.ControlPlane.ExternalDatastore {
		out = append(out, r.etcd())
	}
	out = append(out, r.progress()...)
	return append(out, r.available(out))
}

// initialized tells whether the first server has come up: the workload API
// answered with a server's Node, and etcd lists a started voter. It never
// becomes false again. A cluster whose only server is already being deleted
// has not come up: its replacement begins anew.
func (r reporter) initialized() bool {
	if was := r.ControlPlane.Status.Initialization.ControlPlaneInitialized; was != nil && *was {
		return true
	}
	stays := func(m model.Machine) bool { return !m.Deleting }
	if !r.Snapshot.ControlPlane.Initialized || !slices.ContainsFunc(r.Snapshot.Machines, stays) {
		return false
	}
	joined := func(m model.Member) bool { return m.Voter() && m.Started() }
	return r.Snapshot.ControlPlane.ExternalDatastore || slices.ContainsFunc(r.Snapshot.Etcd.Members.Value, joined)
}

// inTouch tells whether anything of the workload cluster could be seen.
func (r reporter) inTouch() bool {
	if r.Snapshot.Etcd.Members.Known {
		return true
	}
	for _, m := range r.Snapshot.Machines {
		if m.Node.Known {
			return true
		}
	}
	return false
}

// keepsLast tells whether the last known conditions still stand although
// nothing can be seen now.
func (r reporter) keepsLast() bool {
	return r.initialized() && !r.inTouch() && !r.LastContact.IsZero() &&
		r.Snapshot.Now.Sub(r.LastContact) < ContactGrace
}

// last is a condition as it stands on the control plane.
func (r reporter) last(kind string) (metav1.Condition, bool) {
	return find(r.ControlPlane.Status.Conditions, kind)
}
