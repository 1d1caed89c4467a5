// Package obstacle finds out who keeps a Machine from being deleted: pods that
// are not evicted, volumes that are still attached, finalizers. What it finds is
// shown to people and never decided on.
package obstacle

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
)

// Patience is how long a host may take to be destroyed before somebody should
// look at it.
const Patience = 15 * time.Minute

// Finder looks for obstacles.
type Finder struct {
	// Client reads the management cluster.
	Client client.Reader
	// Workload is the workload cluster, nil if it can't be reached.
	Workload *workload.Cluster
}

// Find looks at every Machine of the Snapshot that is being deleted, where core
// stands with it. What can't be read is left out, and the errors say why.
func (f Finder) Find(ctx context.Context, s *scope.Scope, snap model.Snapshot) ([]model.Obstacle, []error) {
	var out []model.Obstacle
	var errs []error
	for _, m := range snap.Machines {
		if !m.Deleting {
			continue
		}
		found, err := f.ofMachine(ctx, s, m, snap.Now)
		if err != nil {
			errs = append(errs, err)
		}
		out = append(out, found...)
	}
	return out, errs
}

func (f Finder) ofMachine(ctx context.Context, s *scope.Scope, m model.Machine, now time.Time) ([]model.Obstacle, error) {
	switch {
	case m.Phase == model.PhaseDraining && f.Workload != nil && m.NodeName != "":
		return f.pods(ctx, s, m, now)
	case m.Phase == model.PhaseWaitingForVolumes && f.Workload != nil && m.NodeName != "":
		return f.volumes(ctx, m)
	case m.Phase.PastHooks():
		return remains(s, m, now), nil
	default:
		return nil, nil
	}
}

// volumes are those that are attached to the Machine's Node.
func (f Finder) volumes(ctx context.Context, m model.Machine) ([]model.Obstacle, error) {
	attached, err := f.Workload.VolumeAttachments(ctx, m.NodeName)
	if err != nil {
		return nil, err
	}
	var out []model.Obstacle
	for _, a := range attached {
		o := model.Obstacle{
			Machine: m.Name, Kind: "VolumeAttachment", Name: a.Name, Since: a.CreationTimestamp.Time,
			Why: "a volume is still attached by " + a.Spec.Attacher, Unblock: "it ends when the storage driver has detached the volume",
		}
		if volume := a.Spec.Source.PersistentVolumeName; volume != nil {
			o.Why = "PersistentVolume " + *volume + " is still attached by " + a.Spec.Attacher
			if claim := f.Workload.ClaimOf(ctx, *volume); claim != "" {
				o.Why += ", for claim " + claim
			}
		}
		if e := a.Status.DetachError; e != nil {
			o.Stuck, o.Since, o.Why = true, e.Time.Time, o.Why+": "+e.Message
		}
		out = append(out, o)
	}
	return out, nil
}

// remains are the objects of a Machine that core waits for after the hooks: the
// infrastructure machine and the bootstrap config, and finalizers of others.
func remains(s *scope.Scope, m model.Machine, now time.Time) []model.Obstacle {
	var out []model.Obstacle
	if infra := s.Infrastructure[m.Name]; infra.Object != nil {
		out = append(out, infrastructure(m.Name, infra.Object, now)...)
	}
	if config := s.Configs[m.Name]; config != nil && !config.DeletionTimestamp.IsZero() {
		out = append(out, finalizers(m.Name, "RKE2Config", config, now)...)
	}
	if machine := s.Machines[m.Name]; machine != nil {
		for _, o := range finalizers(m.Name, "Machine", machine, now) {
			if o.Why != "finalizer "+clusterv1.MachineFinalizer {
				out = append(out, o)
			}
		}
	}
	return out
}

func finalizers(machine, kind string, obj client.Object, now time.Time) []model.Obstacle {
	var out []model.Obstacle
	for _, f := range obj.GetFinalizers() {
		o := model.Obstacle{
			Machine: machine, Kind: kind, Name: obj.GetNamespace() + "/" + obj.GetName(), Why: "finalizer " + f,
			Unblock: "it ends when whoever put it there takes it off",
		}
		if at := obj.GetDeletionTimestamp(); at != nil {
			o.Since = at.Time
			o.Stuck = now.Sub(at.Time) > Patience
		}
		out = append(out, o)
	}
	return out
}

func infrastructure(machine string, obj *unstructured.Unstructured, now time.Time) []model.Obstacle {
	kind, name := obj.GetKind(), obj.GetNamespace()+"/"+obj.GetName()
	if obj.GetDeletionTimestamp() == nil {
		return []model.Obstacle{{Machine: machine, Kind: kind, Name: name, Why: "it is not deleted yet", Unblock: "it ends when core deletes it"}}
	}
	out := finalizers(machine, kind, obj, now)
	for _, c := range conditions(obj) {
		text := "condition " + c.kind + " is " + c.status
		for _, more := range []string{c.reason, c.message} {
			if more != "" {
				text += ": " + more
			}
		}
		out = append(out, model.Obstacle{
			Machine: machine, Kind: kind, Name: name, Why: text, Since: c.since, Stuck: now.Sub(obj.GetDeletionTimestamp().Time) > Patience,
			Unblock: "it ends when the infrastructure provider has destroyed the host",
		})
	}
	return out
}

type condition struct {
	kind, status, reason, message string
	since                         time.Time
}

// conditions are those of an infrastructure machine that say how far its end
// has got: Ready that is not true and Deleting that is.
func conditions(obj *unstructured.Unstructured) []condition {
	var out []condition
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text := func(key string) string {
			value, _ := fields[key].(string)
			return value
		}
		c := condition{kind: text("type"), status: text("status"), reason: text("reason"), message: text("message")}
		c.since, _ = time.Parse(time.RFC3339, text("lastTransitionTime"))
		if c.kind == "Ready" && c.status != "True" || c.kind == "Deleting" && c.status == "True" {
			out = append(out, c)
		}
	}
	return out
}
