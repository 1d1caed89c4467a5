package incumbent

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// look is how often it looks whether what it waits for has come.
	look = 500 * time.Millisecond
	// callTimeout bounds one request to a cluster that may be coming up.
	callTimeout = 5 * time.Second
)

// await looks until ready says yes. An error of ready means "not yet": what is asked may be coming up. The last one is
// part of the error when ctx ends first.
func await(ctx context.Context, what string, ready func(context.Context) (bool, error)) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, look, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		var ok bool
		ok, last = ready(ctx)
		return ok && last == nil, nil
	})
	switch {
	case err != nil && last != nil:
		return fmt.Errorf("wait for %s: %w (%w)", what, err, last)
	case err != nil:
		return fmt.Errorf("wait for %s: %w", what, err)
	}
	return nil
}

// awaitInfrastructure returns the Cluster once servers can be made.
func (b *builder) awaitInfrastructure(ctx context.Context) (*clusterv1.Cluster, error) {
	cluster := &clusterv1.Cluster{}
	return cluster, await(ctx, "the infrastructure of the cluster", func(ctx context.Context) (bool, error) {
		err := b.Client.Get(ctx, b.Cluster, cluster)
		return ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false) && cluster.Spec.ControlPlaneEndpoint.IsValid(), err
	})
}

// awaitPlane returns the control plane once core has made the Cluster its owner.
func (b *builder) awaitPlane(ctx context.Context) (*unstructured.Unstructured, error) {
	plane := &unstructured.Unstructured{}
	plane.SetGroupVersionKind(controlPlaneKind)
	return plane, await(ctx, "the control plane object", func(ctx context.Context) (bool, error) {
		err := b.Client.Get(ctx, b.Cluster, plane)
		owned := slices.ContainsFunc(plane.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == b.cluster.UID })
		return owned, err
	})
}

// awaitFirstServer waits until RKE2 has made the first objects of a new cluster, by which the incumbent knows that it
// has come up.
func (b *builder) awaitFirstServer(ctx context.Context) error {
	config, err := clientcmd.RESTConfigFromKubeConfig(b.kubeconfig)
	if err != nil {
		return fmt.Errorf("read own kubeconfig: %w", err)
	}
	config.Dial = b.Dial
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("use own kubeconfig: %w", err)
	}
	return await(ctx, "the first server", func(ctx context.Context) (bool, error) {
		_, err := kube.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, "rke2-serving", metav1.GetOptions{})
		return true, err
	})
}

// awaitReady returns the Machine once core knows its Node and that it is ready.
func (b *builder) awaitReady(ctx context.Context, name string) (*clusterv1.Machine, error) {
	machine := &clusterv1.Machine{}
	return machine, await(ctx, "the Node of Machine "+name, func(ctx context.Context) (bool, error) {
		err := b.Client.Get(ctx, client.ObjectKey{Namespace: b.Cluster.Namespace, Name: name}, machine)
		return machine.Status.NodeRef.IsDefined() && conditions.IsTrue(machine, clusterv1.MachineReadyCondition), err
	})
}

// awaitOwner returns the Machine that a config is for once core has made it the owner, and reads the config anew.
func (b *builder) awaitOwner(ctx context.Context, config *unstructured.Unstructured) (*clusterv1.Machine, error) {
	var machine *clusterv1.Machine
	err := await(ctx, "the Machine of RKE2Config "+config.GetName(), func(ctx context.Context) (bool, error) {
		if err := b.Client.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return false, err
		}
		var err error
		machine, err = util.GetOwnerMachine(ctx, b.Client, metav1.ObjectMeta{
			Namespace: config.GetNamespace(), OwnerReferences: config.GetOwnerReferences(),
		})
		return machine != nil, err
	})
	return machine, err
}

// awaitWorkerConfigs returns the configs of all workers that the MachineDeployments ask for.
func (b *builder) awaitWorkerConfigs(ctx context.Context) ([]unstructured.Unstructured, error) {
	here := []client.ListOption{client.InNamespace(b.Cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: b.Cluster.Name}}
	deployments := &clusterv1.MachineDeploymentList{}
	if err := b.Client.List(ctx, deployments, here...); err != nil {
		return nil, fmt.Errorf("list MachineDeployments: %w", err)
	}
	wanted := 0
	for _, d := range deployments.Items {
		wanted += int(ptr.Deref(d.Spec.Replicas, 1))
	}
	var found []unstructured.Unstructured
	err := await(ctx, fmt.Sprintf("the RKE2Configs of %d workers", wanted), func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(configKind.GroupVersion().WithKind(configKind.Kind + "List"))
		err := b.Client.List(ctx, list, here...)
		found = nil
		for _, config := range list.Items {
			if _, server := config.GetLabels()[clusterv1.MachineControlPlaneLabel]; !server {
				found = append(found, config)
			}
		}
		return len(found) == wanted, err
	})
	return found, err
}

func (b *builder) create(ctx context.Context, o client.Object) error {
	if err := b.Client.Create(ctx, o); err != nil {
		return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
	}
	return nil
}

func (b *builder) apply(ctx context.Context, o *unstructured.Unstructured, manager string) error {
	err := b.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(manager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}
