package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
)

// createMachine makes a server: infrastructure machine, RKE2Config, and the
// Machine last, since only with it anybody begins to work.
func (a *Actor) createMachine(ctx context.Context, s *scope.Scope, snap model.Snapshot, act model.CreateMachine) error {
	cp, err := a.groundForCreation(ctx, s, snap, act)
	if err != nil {
		return err
	}
	template := scope.ReadTemplate(ctx, a.Client, a.Live, cp)
	switch {
	case template.Err != nil:
		return fmt.Errorf("create server: infrastructure template %s: %w", templateName(template, cp), template.Err)
	case template.Missing:
		return fmt.Errorf("create server: infrastructure template %s: not found; create it or correct spec.machineTemplate.spec.infrastructureRef", templateName(template, cp))
	}
	if err := a.sweep(ctx, s, template.Object); err != nil {
		return fmt.Errorf("create server: %w", err)
	}
	if act.Purpose == model.First {
		if err := a.recordFirstServer(ctx, cp); err != nil {
			return err
		}
	}
	server, err := desired.NewServer(cp, s.Cluster, template.Object, desired.Name(cp, a.Suffix()), act.FailureDomain)
	if err != nil {
		return fmt.Errorf("create server: %w", err)
	}
	serves, err := a.replacementFor(ctx, s, cp)
	if err != nil {
		return err
	}
	if serves != "" {
		server.Machine.Annotations[controlplanev1.RemediationForAnnotation] = serves
	}
	return a.createServer(ctx, server)
}

func templateName(e scope.External, cp *controlplanev1.RKE2ControlPlane) string {
	return fmt.Sprintf("%s %s/%s", e.Ref.Kind, cp.Namespace, e.Ref.Name)
}

// groundForCreation checks that exactly the Machines are there that the
// decision counted, and that the spec is still the one it was made for.
func (a *Actor) groundForCreation(ctx context.Context, s *scope.Scope, snap model.Snapshot, act model.CreateMachine) (*controlplanev1.RKE2ControlPlane, error) {
	cp, err := a.liveControlPlane(ctx, s)
	if err != nil {
		return nil, err
	}
	if !cp.DeletionTimestamp.IsZero() {
		return nil, refuse("the control plane is being deleted")
	}
	if cp.Generation != s.ControlPlane.Generation {
		return nil, refuse("the spec of the control plane has changed since this was decided")
	}
	cluster, err := a.liveCluster(ctx, s)
	if err != nil {
		return nil, err
	}
	if !cluster.DeletionTimestamp.IsZero() {
		return nil, refuse("Cluster %s is being deleted", s.ClusterKey())
	}
	live, err := a.unchangedMachines(ctx, s, snap)
	if err != nil {
		return nil, err
	}
	if act.Purpose != model.First {
		return cp, nil
	}
	if len(live) > 0 {
		return nil, refuse("there are Machines already, another first server would start a second cluster")
	}
	if cp.Annotations[controlplanev1.FirstServerByAnnotation] != s.ControlPlane.Annotations[controlplanev1.FirstServerByAnnotation] {
		return nil, refuse("the first server is being made already")
	}
	return cp, nil
}

// recordFirstServer notes on the control plane that its first server is made
// here, before anything of that server exists. The optimistic lock makes this
// the point at which two controllers that both believe to be alone part.
func (a *Actor) recordFirstServer(ctx context.Context, cp *controlplanev1.RKE2ControlPlane) error {
	if cp.Annotations[controlplanev1.FirstServerByAnnotation] == controlplanev1.FirstServerByDrover {
		return nil
	}
	return a.annotateControlPlane(ctx, cp, controlplanev1.FirstServerByAnnotation, controlplanev1.FirstServerByDrover)
}

func (a *Actor) createServer(ctx context.Context, server desired.Server) error {
	var made []client.Object
	for _, obj := range []client.Object{server.Infrastructure, server.Config} {
		if err := a.Client.Create(ctx, obj, client.FieldOwner(controlplanev1.FieldManager)); err != nil {
			return a.undo(ctx, made, fmt.Errorf("create server: create %s: %w", describe(obj), err))
		}
		made = append(made, obj)
	}
	if err := a.applyMachine(ctx, server.Machine); err != nil {
		err = fmt.Errorf("create server: create %s: %w", describe(server.Machine), err)
		if !a.surelyAbsent(ctx, server.Machine) {
			// It may have been made although the request failed. What it
			// refers to must then stay.
			return err
		}
		return a.undo(ctx, made, err)
	}
	a.awaitCache(ctx, server.Machine.Name, server.Machine.Namespace, func(m *clusterv1.Machine) bool { return m != nil })
	return nil
}

// applyMachine creates the Machine by server-side apply: later applies of the
// same field manager can then also take labels and annotations away.
func (a *Actor) applyMachine(ctx context.Context, m *clusterv1.Machine) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		return err
	}
	delete(content, "status")
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(controlplanev1.FieldManager), client.ForceOwnership)
}

func (a *Actor) surelyAbsent(ctx context.Context, m *clusterv1.Machine) bool {
	return apierrors.IsNotFound(a.Live.Get(ctx, client.ObjectKeyFromObject(m), &clusterv1.Machine{}))
}

// undoTimeout bounds the clean-up, which must work although the context may
// be the reason it is needed.
const undoTimeout = 10 * time.Second

// undo deletes what was made before err, newest first.
func (a *Actor) undo(ctx context.Context, made []client.Object, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	for i := len(made) - 1; i >= 0; i-- {
		if deleteErr := client.IgnoreNotFound(a.Client.Delete(ctx, made[i])); deleteErr != nil {
			err = errors.Join(err, fmt.Errorf("delete %s again: %w", describe(made[i]), deleteErr))
		}
	}
	return err
}

func describe(obj client.Object) string {
	return fmt.Sprintf("%s %s/%s", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetNamespace(), obj.GetName())
}
