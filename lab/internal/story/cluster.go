package story

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/probe"
	"github.com/drover-project/drover/lab/internal/timeline"
)

// leftoverLimit is how long Nodes of departed servers may stay: RKE2's lease of 45 s has to run out when its holder
// left, and the finalizers are then served with back-off.
const leftoverLimit = 2 * time.Minute

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // the same types registered twice: a fault of the build
		}
	}
	return s
}()

// Cluster is a workload cluster of a story, with its probes.
type Cluster struct {
	r        *Run
	Spec     Spec
	Config   *rest.Config
	Workload client.WithWatch
	Machines *probe.Machines
	// Etcd and the probes of its members; nil where the servers run none.
	Etcd     *probe.Etcd
	Members  *probe.Membership
	Removals *probe.Removals
	EtcdLogs *probe.EtcdLogs

	// source is the management cluster from which the cluster was moved; nil before.
	source client.WithWatch
	// stop ends the probes, and unfollow only what follows the machines in the management cluster.
	stop, unfollow context.CancelFunc
}

func (s Spec) key() client.ObjectKey { return client.ObjectKey{Namespace: namespace, Name: s.Name} }

// Create makes the cluster, follows it on the timeline, and returns when it is complete.
func (r *Run) Create(ctx context.Context, s Spec, limit time.Duration) (*Cluster, error) {
	return r.createFrom(ctx, s, s.Objects(), limit)
}

// createFrom makes the cluster that s describes from the given objects.
func (r *Run) createFrom(ctx context.Context, s Spec, objects []client.Object, limit time.Duration) (*Cluster, error) {
	r.Note("creating cluster %s: servers %d, workers %d, %s", s.Name, s.Servers, s.Workers, s.Version)
	r.follow(ctx)
	ctx, stop := context.WithCancel(ctx)
	for _, o := range objects {
		if err := r.Management.Create(ctx, o); err != nil {
			stop()
			return nil, fmt.Errorf("create %s %s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
		}
	}
	c := &Cluster{r: r, Spec: s, stop: stop}
	if err := c.come(ctx, limit); err != nil {
		stop()
		return nil, err
	}
	return c, nil
}

// come starts the probes as the cluster comes up, and waits until it is complete.
func (c *Cluster) come(ctx context.Context, limit time.Duration) error {
	r, s := c.r, c.Spec
	machines, unfollow := context.WithCancel(ctx)
	c.unfollow = unfollow
	c.Machines = probe.FollowMachines(machines, r.Management, s.key(), controlPlaneKind, r.Log)
	deadline := time.Now().Add(limit)
	if err := r.WaitFor(ctx, "the kubeconfig of "+s.Name, limit, c.connect); err != nil {
		return err
	}
	if err := r.WaitFor(ctx, "an API server of "+s.Name, time.Until(deadline), func(ctx context.Context) (bool, string, error) {
		return true, "", c.Workload.Get(ctx, client.ObjectKey{Name: "kube-system"}, &corev1.Namespace{})
	}); err != nil {
		return err
	}
	if s.Datastore == "" {
		if err := c.followEtcd(ctx); err != nil {
			return err
		}
	}
	probe.FollowWorkload(ctx, c.Workload, namespace, slowLabels, r.Log)
	return c.WaitComplete(ctx, s.Servers, s.Version, time.Until(deadline))
}

// connect reads the kubeconfig that the control plane provider publishes.
func (c *Cluster) connect(ctx context.Context) (bool, string, error) {
	secret := &corev1.Secret{}
	if err := c.r.Management.Get(ctx, client.ObjectKey{Namespace: namespace, Name: c.Spec.Name + "-kubeconfig"}, secret); err != nil {
		return false, "", err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		return false, "", fmt.Errorf("secret %s: %w", secret.Name, err)
	}
	config.Dial = c.r.Lab.DialContext
	config.QPS, config.Burst = -1, -1
	c.Config = config
	c.Workload, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	return err == nil, "", err
}

// servers returns the machines of the control plane.
func (c *Cluster) servers(ctx context.Context) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	err := c.r.Management.List(ctx, list, client.InNamespace(namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: c.Spec.Name}, client.HasLabels{clusterv1.MachineControlPlaneLabel})
	return list.Items, err
}

// WaitComplete waits until there are exactly that many servers, all at that version with ready Nodes and voting
// members, the workers' Nodes are ready, and the control plane says that it is done. Nodes of servers that left may
// still be there: RKE2 holds them by a finalizer until another server has taken over its lease (WaitNodesGone).
func (c *Cluster) WaitComplete(ctx context.Context, servers int, version string, limit time.Duration) error {
	what := fmt.Sprintf("%d servers at %s", servers, version)
	return c.r.WaitFor(ctx, what, limit, func(ctx context.Context) (bool, string, error) {
		missing, err := c.missing(ctx, servers, version)
		return len(missing) == 0, strings.Join(missing, "; "), err
	})
}

// missing lists what is not yet as it should be.
func (c *Cluster) missing(ctx context.Context, servers int, version string) ([]string, error) {
	var out []string
	machines, err := c.servers(ctx)
	if err != nil {
		return nil, err
	}
	if len(machines) != servers {
		out = append(out, fmt.Sprintf("%d machines", len(machines)))
	}
	var nodes []string
	for _, m := range machines {
		switch {
		case !m.DeletionTimestamp.IsZero():
			out = append(out, m.Name+" is leaving")
		case m.Spec.Version != version:
			out = append(out, m.Name+" is at "+m.Spec.Version)
		case !m.Status.NodeRef.IsDefined():
			out = append(out, m.Name+" has no Node")
		}
		nodes = append(nodes, m.Status.NodeRef.Name)
	}
	ready, _, err := c.nodes(ctx)
	if err != nil {
		return nil, err
	}
	if want := servers + c.Spec.Workers; ready != want {
		out = append(out, fmt.Sprintf("%d of %d Nodes ready", ready, want))
	}
	if c.Members != nil {
		out = append(out, c.memberFaults(nodes)...)
	}
	return append(out, c.planeFaults(ctx, servers)...), nil
}

// nodes counts the ready Nodes that have a machine, and names those whose machine is gone.
func (c *Cluster) nodes(ctx context.Context) (ready int, leftover []string, err error) {
	machines := &clusterv1.MachineList{}
	if err := c.r.Management.List(ctx, machines, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: c.Spec.Name}); err != nil {
		return 0, nil, err
	}
	nodes := &corev1.NodeList{}
	if err := c.Workload.List(ctx, nodes); err != nil {
		return 0, nil, err
	}
	for _, n := range nodes.Items {
		owned := slices.ContainsFunc(machines.Items, func(m clusterv1.Machine) bool { return m.Status.NodeRef.Name == n.Name })
		isReady := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		switch {
		case !owned:
			leftover = append(leftover, n.Name)
		case isReady:
			ready++
		}
	}
	return ready, leftover, nil
}

// WaitNodesGone waits until no Node is left without a machine, and records it.
func (c *Cluster) WaitNodesGone(ctx context.Context) {
	began := time.Now()
	var left []string
	err := c.r.WaitFor(ctx, "the Nodes of departed servers to go", leftoverLimit, func(ctx context.Context) (bool, string, error) {
		_, names, err := c.nodes(ctx)
		left = names
		return err == nil && len(left) == 0, strings.Join(left, ", "), err
	})
	c.r.Check("control plane", "no Node of a departed server is left", err == nil, "gone after another %s %s",
		time.Since(began).Round(time.Second), strings.Join(left, ", "))
}

// planeFaults reads the control plane's own counters.
func (c *Cluster) planeFaults(ctx context.Context, servers int) []string {
	plane, err := c.plane(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, counter := range []string{"replicas", "readyReplicas", "upToDateReplicas"} {
		n, _, err := unstructured.NestedInt64(plane.Object, "status", counter)
		if err != nil || int(n) != servers {
			out = append(out, fmt.Sprintf("status.%s %d", counter, n))
		}
	}
	return out
}

func (c *Cluster) plane(ctx context.Context) (*unstructured.Unstructured, error) {
	plane := &unstructured.Unstructured{}
	plane.SetGroupVersionKind(controlPlaneKind)
	if err := c.r.Management.Get(ctx, c.Spec.planeKey(), plane); err != nil {
		return nil, fmt.Errorf("read control plane %s: %w", c.Spec.Name, err)
	}
	return plane, nil
}

// PatchPlane merges spec fields into the control plane object.
func (c *Cluster) PatchPlane(ctx context.Context, spec fields) error {
	plane, err := c.plane(ctx)
	if err != nil {
		return err
	}
	before := plane.DeepCopy()
	for k, v := range spec {
		if err := unstructured.SetNestedField(plane.Object, v, "spec", k); err != nil {
			return fmt.Errorf("set spec.%s: %w", k, err)
		}
	}
	if err := c.r.Management.Patch(ctx, plane, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patch control plane %s: %w", c.Spec.Name, err)
	}
	return nil
}

// events are those of the run so far, with the last word of etcd's logs among them.
func (c *Cluster) events(ctx context.Context) []timeline.Event {
	if c.EtcdLogs != nil {
		c.EtcdLogs.Read(ctx)
	}
	return c.r.Log.Events()
}
