package story

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// graphKinds are the kinds that make up a cluster, beside Secrets and ConfigMaps with its label.
var graphKinds = append([]schema.GroupVersionKind{
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineSet"},
	{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: "RKE2ConfigTemplate"},
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "LabMachineTemplate"},
}, leftoverKinds...)

// picture is what a cluster is at one moment: its objects in the management cluster, and what runs. All maps are by
// name, so that they can be compared.
type picture struct {
	// objects by kind and name.
	objects map[string]*unstructured.Unstructured
	// secrets are fingerprints of the Secrets' types and data.
	secrets map[string]string
	// booted tells when each machine of the laboratory was booted.
	booted map[string]string
	// nodes and members are the identities of Nodes and etcd members.
	nodes, members map[string]string
}

// available tells whether the Cluster says that it is Available.
func (c *Cluster) available(ctx context.Context) (bool, string, error) {
	cluster := &clusterv1.Cluster{}
	if err := c.r.Management.Get(ctx, c.Spec.key(), cluster); err != nil {
		return false, "", err
	}
	condition := conditions.Get(cluster, clusterv1.AvailableCondition)
	if condition == nil {
		return false, "the Cluster says nothing yet", nil
	}
	return condition.Status == metav1.ConditionTrue, oneLine(condition.Message), nil
}

// settled tells whether the Cluster is available, no condition of its objects is unknown, and the end of every server's
// certificates is on record: a server that was still starting when it was asked is asked again a minute later.
func (c *Cluster) settled(ctx context.Context) (bool, string, error) {
	if ok, state, err := c.available(ctx); err != nil || !ok {
		return false, state, err
	}
	objects, err := objectsOf(ctx, c.r.Management, c.Spec.Name)
	if err != nil {
		return false, "", err
	}
	var unknown []string
	for key, o := range objects {
		for name, value := range conditionsOf(o) {
			if strings.HasPrefix(value, string(metav1.ConditionUnknown)) {
				unknown = append(unknown, key+": "+name)
			}
		}
		if _, server := o.GetLabels()[clusterv1.MachineControlPlaneLabel]; server && o.GetKind() == "Machine" {
			if expiry, _, _ := unstructured.NestedString(o.Object, "status", "certificatesExpiryDate"); expiry == "" {
				unknown = append(unknown, key+": certificatesExpiryDate")
			}
		}
	}
	slices.Sort(unknown)
	return len(unknown) == 0, strings.Join(unknown, ", "), nil
}

// picture takes a picture of the cluster as the current management cluster and the workload cluster show it.
func (c *Cluster) picture(ctx context.Context) (*picture, error) {
	p := &picture{}
	for _, look := range []struct {
		into *map[string]string
		at   func(context.Context) (map[string]string, error)
	}{
		{&p.secrets, c.secretPrints}, {&p.booted, c.r.bootTimes}, {&p.nodes, c.nodeIdentities}, {&p.members, c.memberIdentities},
	} {
		found, err := look.at(ctx)
		if err != nil {
			return nil, fmt.Errorf("take a picture of cluster %s: %w", c.Spec.Name, err)
		}
		*look.into = found
	}
	var err error
	if p.objects, err = objectsOf(ctx, c.r.Management, c.Spec.Name); err != nil {
		return nil, fmt.Errorf("take a picture of cluster %s: %w", c.Spec.Name, err)
	}
	return p, nil
}

// objectsOf returns all objects of a cluster that is the only one of its namespace.
func objectsOf(ctx context.Context, c client.Client, cluster string) (map[string]*unstructured.Unstructured, error) {
	out := map[string]*unstructured.Unstructured{}
	collect := func(kind schema.GroupVersionKind, opts ...client.ListOption) error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(ctx, list, append(opts, client.InNamespace(namespace))...); err != nil {
			return fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			out[kind.Kind+" "+list.Items[i].GetName()] = &list.Items[i]
		}
		return nil
	}
	for _, kind := range graphKinds {
		if err := collect(kind); err != nil {
			return nil, err
		}
	}
	for _, kind := range []string{"Secret", "ConfigMap"} {
		if err := collect(corev1.SchemeGroupVersion.WithKind(kind), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// each makes a comparable map of the objects.
func (p *picture) each(word func(*unstructured.Unstructured) string) map[string]string {
	out := map[string]string{}
	for key, o := range p.objects {
		out[key] = word(o)
	}
	return out
}

func (p *picture) names() map[string]string {
	return p.each(func(*unstructured.Unstructured) string { return "" })
}

// specs are the objects' labels and specs. That a Cluster is paused belongs to the move.
func (p *picture) specs() map[string]string {
	return p.each(func(o *unstructured.Unstructured) string {
		o = o.DeepCopy()
		unstructured.RemoveNestedField(o.Object, "spec", "paused")
		return text(fields{"labels": o.GetLabels(), "spec": o.Object["spec"]})
	})
}

// status is the objects' status as far as it is not a matter of time.
func (p *picture) status() map[string]string {
	return p.each(func(o *unstructured.Unstructured) string {
		status, _, _ := unstructured.NestedMap(o.Object, "status")
		for _, field := range []string{"observedGeneration", "lastUpdated", "deprecated"} {
			delete(status, field)
		}
		delete(status, "conditions")
		return text(fields{"conditions": conditionsOf(o), "status": status})
	})
}

// conditionsOf returns status and reason of an object's conditions, but for those that lag.
func conditionsOf(o *unstructured.Unstructured) map[string]string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	out := map[string]string{}
	for _, item := range list {
		if c, ok := item.(fields); ok && !lagging(o.GetKind(), c["type"]) {
			out[fmt.Sprint(c["type"])] = fmt.Sprintf("%v %v", c["status"], c["reason"])
		}
	}
	return out
}

// lagging conditions may be old by Cluster API's whole sync period: its MachineDeployment controller computes them from
// Machines, but looks again only when a MachineSet changes.
func lagging(kind string, condition any) bool {
	return kind == "MachineDeployment" && (condition == clusterv1.MachineDeploymentMachinesReadyCondition || condition == clusterv1.MachineDeploymentMachinesUpToDateCondition)
}

// owners names the owners of each object.
func (p *picture) owners() map[string]string {
	return p.each(func(o *unstructured.Unstructured) string {
		var out []string
		for _, owner := range o.GetOwnerReferences() {
			out = append(out, fmt.Sprintf("%s %s, controller %t", owner.Kind, owner.Name, owner.Controller != nil && *owner.Controller))
		}
		slices.Sort(out)
		return strings.Join(out, "\n")
	})
}

func (p *picture) references() int {
	n := 0
	for _, o := range p.objects {
		n += len(o.GetOwnerReferences())
	}
	return n
}

// dangling lists the owner references whose object is not in the picture.
func (p *picture) dangling() []string {
	known := map[types.UID]string{}
	for key, o := range p.objects {
		known[o.GetUID()] = key
	}
	var out []string
	for key, o := range p.objects {
		for _, owner := range o.GetOwnerReferences() {
			if known[owner.UID] != owner.Kind+" "+owner.Name {
				out = append(out, fmt.Sprintf("%s names %s %s", key, owner.Kind, owner.Name))
			}
		}
	}
	slices.Sort(out)
	return out
}

// census counts the objects by kind.
func (p *picture) census() string {
	count := map[string]int{}
	for _, o := range p.objects {
		count[o.GetKind()]++
	}
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		out = append(out, fmt.Sprintf("%d %s", count[kind], kind))
	}
	return strings.Join(out, ", ")
}

func text(value any) string {
	data, err := yaml.Marshal(value)
	if err != nil {
		return err.Error() // what came from JSON can be written as YAML
	}
	return string(data)
}
