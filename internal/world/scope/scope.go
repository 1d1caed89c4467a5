package scope

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// ErrNoCluster says that the control plane has no owner Cluster, or one that
// does not exist. Core sets the owner reference shortly after creation.
var ErrNoCluster = errors.New("no owner Cluster")

// ControlPlaneKind is the group and kind of the control plane. Owner
// references are matched by it, whatever version they name.
var ControlPlaneKind = schema.GroupKind{Group: controlplanev1.GroupVersion.Group, Kind: "RKE2ControlPlane"}

// Scope is one control plane and the management objects around it.
type Scope struct {
	ControlPlane *controlplanev1.RKE2ControlPlane
	Cluster      *clusterv1.Cluster
	// Machines are the control-plane Machines whose controller is the control
	// plane.
	Machines collections.Machines
	// Foreign are control-plane Machines of the same Cluster with another
	// controller or none. Nothing is done to them.
	Foreign collections.Machines
	// Configs are the Machines' RKE2Configs by Machine name. A Machine whose
	// config does not exist has no entry.
	Configs map[string]*bootstrapv1.RKE2Config
	// Infrastructure are the Machines' infrastructure machines by Machine
	// name. A Machine without a reference has no entry.
	Infrastructure map[string]External
	// Template is the infrastructure template new servers are made from.
	Template External
	// HiddenEtcd: the cluster is of the legacy kind and has etcd inside, and no
	// Secret holds the authority that would let one ask it.
	HiddenEtcd bool
}

// Load reads the Scope of a control plane. The client c may be cached; live
// reads past any cache, and serves the objects whose absence counts: the
// infrastructure machines and their template. An object that can't be read is
// part of the result where it belongs to one Machine, and an error where
// nothing can be said without it.
func Load(ctx context.Context, c client.Client, live client.Reader, cp *controlplanev1.RKE2ControlPlane) (*Scope, error) {
	cluster, err := ownerCluster(ctx, c, cp)
	if err != nil {
		return nil, err
	}
	s := &Scope{
		ControlPlane:   cp,
		Cluster:        cluster,
		Configs:        map[string]*bootstrapv1.RKE2Config{},
		Infrastructure: map[string]External{},
	}
	s.Machines, s.Foreign, err = Machines(ctx, c, cp, cluster.Name)
	if err != nil {
		return nil, err
	}
	refs := referenceReader{objects: live, definitions: c}
	for name, m := range s.Machines {
		if err := s.loadConfig(ctx, c, m); err != nil {
			return nil, err
		}
		if m.Spec.InfrastructureRef.IsDefined() {
			s.Infrastructure[name] = refs.get(ctx, m.Spec.InfrastructureRef, m.Namespace)
		}
	}
	s.Template = refs.get(ctx, cp.Spec.MachineTemplate.Spec.InfrastructureRef, cp.Namespace)
	if s.HiddenEtcd, err = hidesEtcd(ctx, c, cp, s.ClusterKey()); err != nil {
		return nil, err
	}
	return s, nil
}

// ReadTemplate reads the infrastructure template of a control plane past the
// cache.
func ReadTemplate(ctx context.Context, c client.Client, live client.Reader, cp *controlplanev1.RKE2ControlPlane) External {
	refs := referenceReader{objects: live, definitions: c}
	return refs.get(ctx, cp.Spec.MachineTemplate.Spec.InfrastructureRef, cp.Namespace)
}

// Machines lists the control-plane Machines of a cluster with the given
// reader, split into those the control plane owns and all others.
func Machines(ctx context.Context, r client.Reader, cp *controlplanev1.RKE2ControlPlane, cluster string) (owned, foreign collections.Machines, err error) {
	list := &clusterv1.MachineList{}
	err = r.List(ctx, list, client.InNamespace(cp.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}, client.HasLabels{clusterv1.MachineControlPlaneLabel})
	if err != nil {
		return nil, nil, fmt.Errorf("list control-plane Machines of cluster %s/%s: %w", cp.Namespace, cluster, err)
	}
	all := collections.FromMachineList(list)
	owned = all.Filter(collections.OwnedMachines(cp, ControlPlaneKind))
	return owned, all.Difference(owned), nil
}

func (s *Scope) loadConfig(ctx context.Context, c client.Reader, m *clusterv1.Machine) error {
	ref := m.Spec.Bootstrap.ConfigRef
	if ref.Kind != "RKE2Config" || ref.APIGroup != bootstrapv1.GroupVersion.Group {
		return nil
	}
	config := &bootstrapv1.RKE2Config{}
	err := c.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: ref.Name}, config)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read RKE2Config %s/%s of Machine %s: %w", m.Namespace, ref.Name, m.Name, err)
	}
	s.Configs[m.Name] = config
	return nil
}

// ownerCluster follows the owner reference that core sets.
func ownerCluster(ctx context.Context, c client.Reader, cp *controlplanev1.RKE2ControlPlane) (*clusterv1.Cluster, error) {
	name := ""
	for _, ref := range cp.OwnerReferences {
		if ref.Kind == "Cluster" && strings.HasPrefix(ref.APIVersion, clusterv1.GroupVersion.Group+"/") {
			name = ref.Name
		}
	}
	if name == "" {
		return nil, fmt.Errorf("control plane %s/%s: %w", cp.Namespace, cp.Name, ErrNoCluster)
	}
	cluster := &clusterv1.Cluster{}
	err := c.Get(ctx, client.ObjectKey{Namespace: cp.Namespace, Name: name}, cluster)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("control plane %s/%s: Cluster %s does not exist: %w", cp.Namespace, cp.Name, name, ErrNoCluster)
	}
	if err != nil {
		return nil, fmt.Errorf("read Cluster %s/%s: %w", cp.Namespace, name, err)
	}
	return cluster, nil
}

// Names are the names of the owned Machines, sorted.
func (s *Scope) Names() []string {
	names := make([]string, 0, len(s.Machines))
	for name := range s.Machines {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// NodeNames are the names of the Nodes that core found for the Machines,
// sorted.
func (s *Scope) NodeNames() []string { return NodeNames(s.Machines) }

// NodeNames are the names of the Nodes that core found for Machines, sorted.
func NodeNames(machines collections.Machines) []string {
	var names []string
	for _, m := range machines {
		if m.Status.NodeRef.IsDefined() {
			names = append(names, m.Status.NodeRef.Name)
		}
	}
	slices.Sort(names)
	return names
}

// AddressesOf are the addresses of the Machine that a Node belongs to, internal
// ones first. Names are left out: what they stand for is decided elsewhere.
func (s *Scope) AddressesOf(node string) []string {
	var out []string
	for _, m := range s.Machines {
		if m.Status.NodeRef.Name != node {
			continue
		}
		for _, kind := range []clusterv1.MachineAddressType{clusterv1.MachineInternalIP, clusterv1.MachineExternalIP} {
			for _, a := range m.Status.Addresses {
				if a.Type == kind && a.Address != "" && !slices.Contains(out, a.Address) {
					out = append(out, a.Address)
				}
			}
		}
	}
	return out
}

// ClusterKey is the namespace and name of the Cluster.
func (s *Scope) ClusterKey() client.ObjectKey { return client.ObjectKeyFromObject(s.Cluster) }

// ReadInfrastructure reads the infrastructure machine of a Machine past the
// cache.
func ReadInfrastructure(ctx context.Context, c client.Client, live client.Reader, m *clusterv1.Machine) External {
	refs := referenceReader{objects: live, definitions: c}
	return refs.get(ctx, m.Spec.InfrastructureRef, m.Namespace)
}

// SomeoneLeaves tells whether any of the Machines is being deleted.
func (s *Scope) SomeoneLeaves() bool {
	for _, m := range s.Machines {
		if !m.DeletionTimestamp.IsZero() {
			return true
		}
	}
	return false
}
