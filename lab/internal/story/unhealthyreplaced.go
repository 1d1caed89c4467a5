package story

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/drover-project/drover/lab/internal/timeline"
)

var unhealthyReplaced = Story{
	Name: "unhealthy-replaced",
	Purpose: "A host loses its power and nobody deletes its Machine: a MachineHealthCheck marks it, and the control plane " +
		"replaces it and keeps that on record.",
	play: playUnhealthyReplaced,
}

// remediationFor is what a replacement carries.
const remediationFor = "controlplane.cluster.x-k8s.io/remediation-for"

func playUnhealthyReplaced(ctx context.Context, r *Run) error {
	i, err := r.incident(ctx, Spec{Name: "unhealthy", Servers: 3, Version: versionOld, MaxSurge: 1, DrainSeconds: 30}, 0)
	if err != nil {
		return err
	}
	if err := r.Management.Create(ctx, i.healthCheck()); err != nil {
		return fmt.Errorf("create MachineHealthCheck: %w", err)
	}
	victim, err := i.follower(ctx)
	if err != nil {
		return err
	}
	i.excuseDetection(time.Now())
	if err := i.killHost(ctx, victim); err != nil {
		return err
	}
	i.hurt[victim.Name] = append(i.hurt[victim.Name], timeline.RuleStep) // the dead member goes before anything can be drained
	if err := r.WaitFor(ctx, "Machine "+victim.Name+" to be replaced", 6*time.Minute, i.replaced(victim.Name)); err != nil {
		return err
	}
	if err := i.end(ctx, versionOld, 4*time.Minute); err != nil {
		return err
	}
	return i.checkRecord(ctx, victim.Name)
}

// healthCheck marks servers whose Node has not been Ready for 20 seconds.
func (c *Cluster) healthCheck() *clusterv1.MachineHealthCheck {
	return &clusterv1.MachineHealthCheck{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.Spec.Name},
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: c.Spec.Name,
			Selector:    metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.MachineControlPlaneLabel: ""}},
			Checks: clusterv1.MachineHealthCheckChecks{UnhealthyNodeConditions: []clusterv1.UnhealthyNodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, TimeoutSeconds: ptr.To[int32](20)},
			}},
		},
	}
}

// replaced tells whether a Machine is gone and another one was made for it.
func (c *Cluster) replaced(name string) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		machines, err := c.servers(ctx)
		if err != nil {
			return false, "", err
		}
		there, made := false, false
		for i := range machines {
			there = there || machines[i].Name == name
			made = made || strings.Contains(machines[i].Annotations[remediationFor], name)
		}
		return !there && made, fmt.Sprintf("still there %t, its replacement made %t", there, made), nil
	}
}

// checkRecord looks for what is kept of a replacement, and for what must not
// stay.
func (i *incident) checkRecord(ctx context.Context, victim string) error {
	plane, err := i.plane(ctx)
	if err != nil {
		return err
	}
	last, _, _ := unstructured.NestedString(plane.Object, "status", "lastRemediation", "machine")
	i.r.Check("control plane", "the last remediation is on record", last == victim, "of %q", last)
	_, open := plane.GetAnnotations()["controlplane.cluster.x-k8s.io/remediation-in-progress"]
	i.r.Check("control plane", "no remediation is left open", !open, "open: %t", open)
	return nil
}
