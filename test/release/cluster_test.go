package release

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// cluster is a cluster made from the template of the laboratory. The test does
// what Cluster API's core and the infrastructure provider would do.
type cluster struct {
	plane           *plane
	namespace, name string
}

// newCluster makes one in a namespace, which is created if it is missing. The
// labels are set on all objects.
func (p *plane) newCluster(t *testing.T, namespace, name string, labels map[string]string) cluster {
	t.Helper()
	c := cluster{p, namespace, name}
	err := p.kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		t.Fatal(err)
	}
	objects := released(t, "cluster-template-lab.yaml", variables(namespace, name))
	for _, object := range objects {
		if err := prepare(object, labels); err != nil {
			t.Fatal(err)
		}
	}
	// The webhooks of a manager that has just become ready may need a moment.
	for _, object := range objects {
		poll(t, func(ctx context.Context) error { return p.apply(ctx, object.DeepCopy()) })
	}
	c.adopt(t)
	return c
}

func variables(namespace, name string) map[string]string {
	return map[string]string{
		"NAMESPACE": namespace, "CLUSTER_NAME": name, "KUBERNETES_VERSION": "v1.36.3+rke2r1",
		"CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "1",
	}
}

// prepare sets labels on an object and on what is made from it, and gives a
// Cluster an address where nothing answers.
func prepare(object *unstructured.Unstructured, labels map[string]string) error {
	all := maps.Clone(labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, object.GetLabels())
	object.SetLabels(all)
	switch {
	case object.GetKind() == "Cluster":
		endpoint := map[string]any{"host": "127.0.0.1", "port": int64(1)}
		return unstructured.SetNestedMap(object.Object, endpoint, "spec", "controlPlaneEndpoint")
	case object.GetKind() == "RKE2ControlPlane" && len(labels) > 0:
		return unstructured.SetNestedStringMap(object.Object, labels, "spec", "machineTemplate", "metadata", "labels")
	}
	return nil
}

// adopt does what the Cluster's controller does: owner references, and word
// that the infrastructure is there.
func (c cluster) adopt(t *testing.T) {
	t.Helper()
	kube, ctx := c.plane.kube, t.Context()
	owner := &clusterv1.Cluster{}
	if err := kube.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: c.name}, owner); err != nil {
		t.Fatal(err)
	}
	controlPlane := c.controlPlane(t)
	before := controlPlane.DeepCopy()
	if err := controllerutil.SetControllerReference(owner, controlPlane, kube.Scheme()); err != nil {
		t.Fatal(err)
	}
	controlPlane.Labels[clusterv1.ClusterNameLabel] = c.name
	if err := kube.Patch(ctx, controlPlane, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	provisioned := owner.DeepCopy()
	provisioned.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	if err := kube.Status().Patch(ctx, provisioned, client.MergeFrom(owner)); err != nil {
		t.Fatal(err)
	}
}

func (c cluster) controlPlane(t *testing.T) *controlplanev1.RKE2ControlPlane {
	t.Helper()
	found := &controlplanev1.RKE2ControlPlane{}
	if err := c.plane.kube.Get(t.Context(), client.ObjectKey{Namespace: c.namespace, Name: c.name + "-servers"}, found); err != nil {
		t.Fatal(err)
	}
	if found.Labels == nil {
		found.Labels = map[string]string{}
	}
	return found
}

func (c cluster) machines(ctx context.Context) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	err := c.plane.kube.List(ctx, list, client.InNamespace(c.namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: c.name})
	return list.Items, err
}

// firstServer waits for the first server's Machine, and gives its config the
// owner that the Machine's controller would.
func (c cluster) firstServer(t *testing.T) *clusterv1.Machine {
	t.Helper()
	machine := &clusterv1.Machine{}
	poll(t, func(ctx context.Context) error {
		machines, err := c.machines(ctx)
		if err != nil || len(machines) != 1 {
			return fmt.Errorf("%d Machines: %w", len(machines), err)
		}
		*machine = machines[0]
		return nil
	})
	config := &bootstrapv1.RKE2Config{}
	poll(t, func(ctx context.Context) error {
		key := client.ObjectKey{Namespace: c.namespace, Name: machine.Spec.Bootstrap.ConfigRef.Name}
		if err := c.plane.kube.Get(ctx, key, config); err != nil {
			return err
		}
		before := config.DeepCopy()
		config.OwnerReferences = nil
		if err := controllerutil.SetControllerReference(machine, config, c.plane.kube.Scheme()); err != nil {
			return err
		}
		return c.plane.kube.Patch(ctx, config, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	return machine
}

// hasSecrets says which of the cluster's Secrets are missing.
func (c cluster) hasSecrets(names ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, name := range names {
			if err := c.plane.kube.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &corev1.Secret{}); err != nil {
				return err
			}
		}
		return nil
	}
}

// started waits until the first server has everything it starts with.
func (c cluster) started(t *testing.T) {
	t.Helper()
	machine := c.firstServer(t)
	poll(t, c.hasSecrets(c.name+"-ca", c.name+"-cca", c.name+"-etcd", c.name+"-peer-etcd",
		c.name+"-token", c.name+"-kubeconfig", machine.Spec.Bootstrap.ConfigRef.Name))
}
