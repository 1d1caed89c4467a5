package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Labels that RKE2 and Kubernetes set. Those of Nodes count by key only: their
// values changed between releases.
const (
	etcdRoleLabel = "node-role.kubernetes.io/etcd"
	// ControlPlaneRoleLabel is on the Nodes of servers.
	ControlPlaneRoleLabel = "node-role.kubernetes.io/control-plane"
	// TierLabel with the value TierControlPlane is on a server's static pods.
	TierLabel = "tier"
	// TierControlPlane is the value of TierLabel.
	TierControlPlane = "control-plane"
)

// SystemNamespace is where RKE2's static pods are.
const SystemNamespace = metav1.NamespaceSystem

// CallTimeout bounds each call to the workload API server.
const CallTimeout = 3 * time.Second

// ErrNotConnected says that there is no connection to the workload cluster.
var ErrNotConnected = errors.New("no connection to the workload cluster")

// Connections is the part of Cluster API's ClusterCache that is needed here.
type Connections interface {
	GetUncachedClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
	GetRESTConfig(ctx context.Context, cluster client.ObjectKey) (*rest.Config, error)
}

// Clusters hands out workload clusters.
type Clusters struct{ connections Connections }

// New returns Clusters on top of Cluster API's connection cache.
func New(connections Connections) *Clusters { return &Clusters{connections: connections} }

// Cluster is one workload cluster. It is for one reconcile and must not be
// kept: the connection behind it may be replaced.
type Cluster struct {
	key    client.ObjectKey
	client client.Client
	config *rest.Config
}

// Connect returns the workload cluster of a Cluster. The error wraps
// ErrNotConnected when there is no connection now.
func (c *Clusters) Connect(ctx context.Context, key client.ObjectKey) (*Cluster, error) {
	wc, err := c.connections.GetUncachedClient(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w (%w)", key, ErrNotConnected, err)
	}
	config, err := c.connections.GetRESTConfig(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w (%w)", key, ErrNotConnected, err)
	}
	return &Cluster{key: key, client: wc, config: config}, nil
}

// Node reads a Node. The result is nil without an error when the API server
// answers that there is none.
func (c *Cluster) Node(ctx context.Context, name string) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	node := &corev1.Node{}
	err := c.client.Get(ctx, client.ObjectKey{Name: name}, node)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Node %s: %w", name, err)
	}
	return node, nil
}

// Nodes reads the Nodes that RKE2 labels as servers, and those with the given
// names whatever their labels. A name that is not in the result does not
// exist.
func (c *Cluster) Nodes(ctx context.Context, names []string) (map[string]*corev1.Node, error) {
	out := map[string]*corev1.Node{}
	for _, label := range []string{ControlPlaneRoleLabel, etcdRoleLabel} {
		if err := c.labelled(ctx, label, out); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if _, known := out[name]; known || name == "" {
			continue
		}
		node, err := c.Node(ctx, name)
		if err != nil {
			return nil, err
		}
		if node != nil {
			out[name] = node
		}
	}
	return out, nil
}

func (c *Cluster) labelled(ctx context.Context, label string, into map[string]*corev1.Node) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	list := &corev1.NodeList{}
	if err := c.client.List(ctx, list, client.HasLabels{label}); err != nil {
		return fmt.Errorf("list Nodes with label %s: %w", label, err)
	}
	for i := range list.Items {
		into[list.Items[i].Name] = &list.Items[i]
	}
	return nil
}

// IsServer tells whether RKE2 labels the Node as a server.
func IsServer(node *corev1.Node) bool {
	_, controlPlane := node.Labels[ControlPlaneRoleLabel]
	_, etcd := node.Labels[etcdRoleLabel]
	return controlPlane || etcd
}

// ControlPlanePods lists the static pods of all servers.
func (c *Cluster) ControlPlanePods(ctx context.Context) ([]corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	list := &corev1.PodList{}
	err := c.client.List(ctx, list, client.InNamespace(SystemNamespace), client.MatchingLabels{TierLabel: TierControlPlane})
	if err != nil {
		return nil, fmt.Errorf("list control-plane pods in %s: %w", SystemNamespace, err)
	}
	return list.Items, nil
}

// RemovalLease is the lease in SystemNamespace by which RKE2's servers agree
// which of them serves the removal annotation.
const RemovalLease = "rke2-etcd"

// LeaseHolder reads who holds a lease of SystemNamespace. The result is empty
// without an error when the lease does not exist or nobody holds it.
func (c *Cluster) LeaseHolder(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	lease := &coordinationv1.Lease{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: SystemNamespace, Name: name}, lease)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("read Lease %s/%s: %w", SystemNamespace, name, err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, ""), nil
}

// PatchNode writes labels and annotations of a Node in one request, or none
// when nothing changes. The Node must still be as it was read.
func (c *Cluster) PatchNode(ctx context.Context, node *corev1.Node, change func(*corev1.Node)) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	updated := node.DeepCopy()
	change(updated)
	if maps.Equal(updated.Labels, node.Labels) && maps.Equal(updated.Annotations, node.Annotations) {
		return nil
	}
	patch := client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{})
	if err := c.client.Patch(ctx, updated, patch); err != nil {
		return fmt.Errorf("patch Node %s: %w", node.Name, err)
	}
	return nil
}

// Annotations that record on a Node when it was asked for something, as an
// RFC 3339 time. Kubernetes keeps no such time for a label or an annotation.
const (
	// ExcludedAtAnnotation is when the Node was taken out of external load
	// balancers.
	ExcludedAtAnnotation = "rke2.controlplane.cluster.x-k8s.io/load-balancer-excluded-at"
	// RemovalAskedAtAnnotation is when RKE2 was asked to remove the Node's
	// etcd member.
	RemovalAskedAtAnnotation = "rke2.controlplane.cluster.x-k8s.io/member-removal-requested-at"
)
