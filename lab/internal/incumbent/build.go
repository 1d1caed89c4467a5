package incumbent

import (
	"context"
	"errors"
	"fmt"
	"net"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Provider plays the incumbent provider for one cluster.
type Provider struct {
	// Client is an administrator's access to the management cluster.
	Client client.Client
	// Dial opens a connection to an address of the cluster.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Cluster is the Cluster, whose control plane object has its name.
	Cluster client.ObjectKey
	// Say is told each step.
	Say func(string)
}

// builder is a provider at work.
type builder struct {
	Provider
	cluster     *clusterv1.Cluster
	plane       *unstructured.Unstructured
	authorities secret.Certificates
	token       string
	kubeconfig  []byte
}

// Build makes the servers and workers that the stored manifests of the cluster ask for and returns when all are there.
// The manifests must have been admitted (Admit), and Cluster API's core and the infrastructure provider must be
// running. ctx bounds it.
func (p Provider) Build(ctx context.Context) error {
	p.Client = client.WithFieldOwner(client.WithFieldValidation(p.Client, metav1.FieldValidationStrict), plainManager)
	b := &builder{Provider: p}
	for _, step := range []func(context.Context) error{b.prepare, b.buildServers, b.buildWorkers} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("build cluster %s: %w", p.Cluster.Name, err)
		}
	}
	return nil
}

// prepare does what comes before the first server.
func (b *builder) prepare(ctx context.Context) (err error) {
	if b.cluster, err = b.awaitInfrastructure(ctx); err != nil {
		return err
	}
	if b.plane, err = b.awaitPlane(ctx); err != nil {
		return err
	}
	if err := b.adopt(ctx, b.plane, func(o client.Object) error {
		controllerutil.AddFinalizer(o, finalizer)
		return nil
	}); err != nil {
		return err
	}
	if b.authorities, err = newAuthorities(); err != nil {
		return err
	}
	for _, save := range []func(context.Context) error{b.saveAuthorities, b.saveToken, b.saveKubeconfig} {
		if err := save(ctx); err != nil {
			return err
		}
	}
	return nil
}

// adopt changes the metadata of an object.
func (b *builder) adopt(ctx context.Context, o client.Object, change func(client.Object) error) error {
	before := o.DeepCopyObject().(client.Object)
	if err := change(o); err != nil {
		return err
	}
	if err := b.Client.Patch(ctx, o, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patch %s %s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
	}
	return nil
}

// template reads the infrastructure template of the servers and lets it belong to the Cluster.
func (b *builder) template(ctx context.Context) (*unstructured.Unstructured, error) {
	path := []string{"spec", "machineTemplate", "spec", "infrastructureRef"}
	ref, _, err := unstructured.NestedStringMap(b.plane.Object, path...)
	if err != nil {
		return nil, fmt.Errorf("read the reference to the infrastructure template: %w", err)
	}
	template, err := external.GetObjectFromContractVersionedRef(ctx, b.Client, clusterv1.ContractVersionedObjectReference{
		APIGroup: ref["apiGroup"], Kind: ref["kind"], Name: ref["name"],
	}, b.Cluster.Namespace)
	if err != nil {
		return nil, fmt.Errorf("read the infrastructure template: %w", err)
	}
	return template, b.adopt(ctx, template, func(o client.Object) error {
		return controllerutil.SetOwnerReference(b.cluster, o, b.Client.Scheme())
	})
}

// buildServers makes the servers one after the other. The first was made by a release that named owners in the older
// version of the group.
func (b *builder) buildServers(ctx context.Context) error {
	template, err := b.template(ctx)
	if err != nil {
		return err
	}
	wanted, _, err := unstructured.NestedInt64(b.plane.Object, "spec", "replicas")
	if err != nil || wanted < 1 {
		return fmt.Errorf("spec.replicas of the control plane is %d: %w", wanted, errors.Join(err, errNotAdmitted))
	}
	for i := range int(wanted) {
		ownerVersion := version
		if i == 0 {
			ownerVersion = olderVersion
		}
		s, err := b.newServer(template, ownerVersion)
		if err != nil {
			return err
		}
		if err := b.buildServer(ctx, s, i); err != nil {
			return fmt.Errorf("server %s: %w", s.machine.Name, err)
		}
	}
	return nil
}

var errNotAdmitted = errors.New("the manifest was not admitted")

// buildServer makes the server and waits until it is ready. Before it there are as many as its index says.
func (b *builder) buildServer(ctx context.Context, s machineSet, index int) error {
	b.Say(fmt.Sprintf("the incumbent makes server %s", s.machine.Name))
	if err := b.saveServer(ctx, s); err != nil {
		return err
	}
	lock, err := b.lock(s.machine.Name)
	if err != nil {
		return err
	}
	if index == 0 {
		err = b.create(ctx, lock)
	} else {
		err = client.IgnoreNotFound(b.Client.Delete(ctx, lock))
	}
	if err != nil {
		return fmt.Errorf("the lock of the first server: %w", err)
	}
	if err := b.giveData(ctx, s.config, server, index > 0); err != nil {
		return err
	}
	if index == 0 {
		if err := b.awaitFirstServer(ctx); err != nil {
			return err
		}
		// Core looks for Nodes only in a cluster that has come up.
		if err := b.publishPlane(ctx, 1); err != nil {
			return err
		}
	}
	machine, err := b.awaitReady(ctx, s.machine.Name)
	if err != nil {
		return err
	}
	if err := b.publishMachine(ctx, machine); err != nil {
		return err
	}
	return b.publishPlane(ctx, index+1)
}

// giveData makes the bootstrap data of a machine, once core has made the Machine the owner of its config.
func (b *builder) giveData(ctx context.Context, config *unstructured.Unstructured, r role, join bool) error {
	machine, err := b.awaitOwner(ctx, config)
	if err != nil {
		return err
	}
	n := node{role: r, version: machine.Spec.Version, settings: b.workerSettings()}
	if r == server {
		if n.settings, err = b.settings(join); err != nil {
			return err
		}
		if !join {
			n.authorities = b.authorities
		}
	}
	data, err := bootstrapData(n)
	if err != nil {
		return err
	}
	if err := b.saveBootstrapData(ctx, config, data); err != nil {
		return err
	}
	return b.publishConfig(ctx, config)
}

// buildWorkers gives bootstrap data to the configs that core made for workers, and waits until those are ready.
func (b *builder) buildWorkers(ctx context.Context) error {
	configs, err := b.awaitWorkerConfigs(ctx)
	if err != nil {
		return err
	}
	for i := range configs {
		b.Say(fmt.Sprintf("the incumbent makes the bootstrap data of worker %s", configs[i].GetName()))
		if err := b.giveData(ctx, &configs[i], agent, true); err != nil {
			return fmt.Errorf("worker %s: %w", configs[i].GetName(), err)
		}
	}
	return nil
}
