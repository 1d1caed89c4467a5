package compat

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// settleTimeout bounds how long a cluster takes until all that can be made has been made: a few seconds when
	// nothing else runs.
	settleTimeout = 5 * time.Minute
	// pauses is how often the controllers are made to look at everything anew.
	pauses = 3
	// pauseTimeout bounds how long controllers take to confirm a pause, and pauseAttempts is how often it is tried.
	pauseTimeout  = time.Minute
	pauseAttempts = 6
)

// settle waits until every control plane has its first Machine with its
// bootstrap data, and every MachineDeployment its Machines.
func (c *check) settle(ctx context.Context) error {
	if err := c.awaitStall(ctx); err != nil {
		return err
	}
	return waitFor(ctx, "the first server's bootstrap data and the workers", settleTimeout, func(ctx context.Context) (string, error) {
		controlPlanes, err := c.list(ctx, c.sample.name, controlPlaneKind)
		if err != nil {
			return "", err
		}
		if len(controlPlanes) != 1 {
			return fmt.Sprintf("%d control planes", len(controlPlanes)), nil
		}
		machines, err := c.machinesIn(ctx, c.sample.name)
		if err != nil {
			return "", err
		}
		missing, err := c.missingServer(ctx, machines)
		if missing != "" || err != nil {
			return fmt.Sprintf("%s; the control plane says: %s", missing, messages(&controlPlanes[0])), err
		}
		return c.missingWorkers(ctx, machines)
	})
}

// missingServer says what the first server lacks.
func (c *check) missingServer(ctx context.Context, machines []clusterv1.Machine) (string, error) {
	for i := range machines {
		m := &machines[i]
		if _, server := m.Labels[clusterv1.MachineControlPlaneLabel]; !server {
			continue
		}
		if m.Spec.Bootstrap.DataSecretName == nil {
			return "Machine " + m.Name + " has no bootstrap data", nil
		}
		data := &corev1.Secret{}
		if err := c.client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: *m.Spec.Bootstrap.DataSecretName}, data); err != nil {
			return "", err
		}
		if len(data.Data["value"]) == 0 {
			return "the bootstrap data of Machine " + m.Name + " are empty", nil
		}
		return "", nil
	}
	return "no server", nil
}

// missingWorkers says which MachineDeployment lacks Machines.
func (c *check) missingWorkers(ctx context.Context, machines []clusterv1.Machine) (string, error) {
	deployments := &clusterv1.MachineDeploymentList{}
	if err := c.client.List(ctx, deployments, client.InNamespace(c.sample.name)); err != nil {
		return "", err
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		have := 0
		for j := range machines {
			if machines[j].Labels[clusterv1.MachineDeploymentNameLabel] == d.Name {
				have++
			}
		}
		if want := int(*d.Spec.Replicas); have != want {
			return fmt.Sprintf("MachineDeployment %s has %d of %d Machines", d.Name, have, want), nil
		}
	}
	return "", nil
}

// awaitStall waits, for a sample that is accepted but cannot work, until the
// control plane names the slip, and mends it.
func (c *check) awaitStall(ctx context.Context) error {
	s := findStall(c.sample.path)
	if s == nil {
		return nil
	}
	var said string
	err := waitFor(ctx, fmt.Sprintf("the control plane to say %q", s.sentence), settleTimeout, func(ctx context.Context) (string, error) {
		controlPlanes, err := c.list(ctx, c.sample.name, controlPlaneKind)
		if err != nil || len(controlPlanes) != 1 {
			return "no control plane", err
		}
		if said = messages(&controlPlanes[0]); !strings.Contains(said, s.sentence) {
			return "it says: " + said, nil
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	c.row.note("accepted, and waits: %s (%s)", s.why, naming(said, s.sentence))
	for i, o := range c.meant {
		if o.GetKind() != s.kind {
			continue
		}
		c.meant[i] = (*slip)(s).mended(o)
		applied, err := c.kubectl.applyOne(ctx, c.meant[i], c.flags)
		if err != nil {
			return err
		}
		if applied.refusal != "" {
			return fmt.Errorf("%s refused with the slip mended: %s", describe(o), applied.refusal)
		}
	}
	return nil
}

// reconcile makes every controller look at the cluster several times: it is
// paused and resumed, which they confirm in a condition. When the last pause is
// confirmed, whatever they decided before it has been done.
func (c *check) reconcile(ctx context.Context) error {
	for range pauses {
		for _, paused := range []bool{true, false} {
			if err := c.pause(ctx, paused); err != nil {
				return err
			}
		}
	}
	return c.pause(ctx, true)
}

// pause pauses or resumes the cluster until all controllers have confirmed it.
func (c *check) pause(ctx context.Context, paused bool) error {
	var err error
	for range pauseAttempts {
		if err := c.setPaused(ctx, paused); err != nil {
			return err
		}
		if err = c.awaitPaused(ctx, paused); err == nil || ctx.Err() != nil {
			return err
		}
		// A controller that learns of the Cluster's change before that of its own last write finds nothing to confirm,
		// and looks again only minutes later. The same change once more is news to it.
		if err := c.setPaused(ctx, !paused); err != nil {
			return err
		}
	}
	return err
}

func (c *check) setPaused(ctx context.Context, paused bool) error {
	clusters := &clusterv1.ClusterList{}
	if err := c.client.List(ctx, clusters, client.InNamespace(c.sample.name)); err != nil {
		return fmt.Errorf("list Clusters: %w", err)
	}
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		before := cluster.DeepCopy()
		cluster.Spec.Paused = &paused
		if err := c.client.Patch(ctx, cluster, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("pause Cluster %s: %w", cluster.Name, err)
		}
	}
	return nil
}

func (c *check) awaitPaused(ctx context.Context, paused bool) error {
	want := metav1.ConditionFalse
	if paused {
		want = metav1.ConditionTrue
	}
	return waitFor(ctx, fmt.Sprintf("all controllers to confirm Paused=%s", want), pauseTimeout, func(ctx context.Context) (string, error) {
		for _, kind := range pausedKinds {
			objects, err := c.list(ctx, c.sample.name, kind)
			if err != nil {
				return "", err
			}
			if i := notYet(objects, want); i >= 0 {
				return describe(&objects[i]) + " does not", nil
			}
		}
		return "", nil
	})
}

func notYet(objects []unstructured.Unstructured, want metav1.ConditionStatus) int {
	for i := range objects {
		if statusOf(&objects[i], clusterv1.PausedCondition) != want {
			return i
		}
	}
	return -1
}
