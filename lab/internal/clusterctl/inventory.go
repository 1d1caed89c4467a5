package clusterctl

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	clusterctlconfig "sigs.k8s.io/cluster-api/cmd/clusterctl/config"
	utilyaml "sigs.k8s.io/cluster-api/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/labclient"
)

// Installed is a provider that runs on a management cluster.
type Installed struct {
	Name string
	Type clusterctlv1.ProviderType
	// Version is a semantic version with a leading v; clusterctl compares it between management clusters.
	Version string
	// Namespace is where its components would be.
	Namespace string
	// Groups are the API groups whose kinds are its own.
	Groups []string
}

// label is the value by which clusterctl knows what belongs to the provider.
func (i Installed) label() string { return clusterctlv1.ManifestLabel(i.Name, i.Type) }

// InLab returns what runs on each management cluster of a lab. The versions of
// the lab's own parts are made up: they are the same everywhere in it.
func InLab() []Installed {
	return []Installed{
		{
			Name: "cluster-api", Type: clusterctlv1.CoreProviderType, Version: "v1.14.2", Namespace: "capi-system",
			Groups: []string{"cluster.x-k8s.io", "addons.cluster.x-k8s.io", "ipam.cluster.x-k8s.io", "runtime.cluster.x-k8s.io"},
		},
		{
			Name: "rke2", Type: clusterctlv1.BootstrapProviderType, Version: "v1.0.0", Namespace: "rke2-bootstrap-system",
			Groups: []string{"bootstrap.cluster.x-k8s.io"},
		},
		{
			Name: "rke2", Type: clusterctlv1.ControlPlaneProviderType, Version: "v1.0.0", Namespace: "rke2-control-plane-system",
			Groups: []string{"controlplane.cluster.x-k8s.io"},
		},
		{
			Name: "lab", Type: clusterctlv1.InfrastructureProviderType, Version: "v1.0.0", Namespace: "lab-system",
			Groups: []string{"infrastructure.cluster.x-k8s.io"},
		},
	}
}

// Register lays down in a management cluster what `clusterctl init` would have
// left there beside the providers themselves, which run already: its labels on
// their kinds, and its inventory.
func Register(ctx context.Context, management *rest.Config, providers []Installed) error {
	c, err := client.NewWithWatch(management, client.Options{Scheme: scheme()})
	if err != nil {
		return fmt.Errorf("clusterctl inventory: %w", err)
	}
	if err := labelKinds(ctx, c, providers); err != nil {
		return err
	}
	if err := createInventoryKind(ctx, c); err != nil {
		return err
	}
	if err := awaitDiscovery(ctx, c); err != nil {
		return err
	}
	for _, p := range providers {
		if err := createEntry(ctx, c, p); err != nil {
			return err
		}
	}
	return nil
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apiextensionsv1.AddToScheme, clusterctlv1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // the same types registered twice: a fault of the build
		}
	}
	return s
}

func labelKinds(ctx context.Context, c client.Client, providers []Installed) error {
	kinds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.List(ctx, kinds); err != nil {
		return fmt.Errorf("list kinds: %w", err)
	}
	for i := range kinds.Items {
		kind := &kinds.Items[i]
		owner := slices.IndexFunc(providers, func(p Installed) bool { return slices.Contains(p.Groups, kind.Spec.Group) })
		if owner < 0 {
			continue
		}
		before := kind.DeepCopy()
		metav1.SetMetaDataLabel(&kind.ObjectMeta, clusterctlv1.ClusterctlLabel, "")
		metav1.SetMetaDataLabel(&kind.ObjectMeta, clusterv1.ProviderNameLabel, providers[owner].label())
		if err := c.Patch(ctx, kind, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("label kind %s: %w", kind.Name, err)
		}
	}
	return nil
}

// createInventoryKind creates the kinds of the inventory and waits until they are served.
func createInventoryKind(ctx context.Context, c client.WithWatch) error {
	kinds, err := utilyaml.ToUnstructured(clusterctlconfig.ClusterctlAPIManifest)
	if err != nil {
		return fmt.Errorf("read clusterctl's own kinds: %w", err)
	}
	for i := range kinds {
		kind := &kinds[i]
		labels := kind.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[clusterctlv1.ClusterctlCoreLabel] = clusterctlv1.ClusterctlCoreLabelInventoryValue
		kind.SetLabels(labels)
		if err := c.Create(ctx, kind); err != nil {
			return fmt.Errorf("create %s %s: %w", kind.GetKind(), kind.GetName(), err)
		}
		served := func(o *apiextensionsv1.CustomResourceDefinition) bool {
			return slices.ContainsFunc(o.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
			})
		}
		err := labclient.Await(ctx, c, &apiextensionsv1.CustomResourceDefinitionList{}, served, client.MatchingFields{"metadata.name": kind.GetName()})
		if err != nil {
			return fmt.Errorf("wait until kind %s is served: %w", kind.GetName(), err)
		}
	}
	return nil
}

// discoveryTime is how long a kind that is served may take to be found.
const discoveryTime = 30 * time.Second

// awaitDiscovery waits until clients find the kind of the inventory's entries. An API server reports a kind as established
// a moment before its discovery lists it, and no watch tells of that.
func awaitDiscovery(ctx context.Context, c client.Client) error {
	kind := clusterctlv1.GroupVersion.WithKind("Provider")
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, discoveryTime, true, func(context.Context) (bool, error) {
		_, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("wait until %s is found: %w", kind, err)
	}
	return nil
}

func createEntry(ctx context.Context, c client.Client, p Installed) error {
	entry := &clusterctlv1.Provider{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.label(),
			Labels: map[string]string{
				clusterctlv1.ClusterctlLabel:     "",
				clusterv1.ProviderNameLabel:      p.label(),
				clusterctlv1.ClusterctlCoreLabel: clusterctlv1.ClusterctlCoreLabelInventoryValue,
			},
		},
		ProviderName: p.Name, Type: string(p.Type), Version: p.Version,
	}
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.Namespace}}); err != nil {
		return fmt.Errorf("create namespace %s: %w", p.Namespace, err)
	}
	if err := c.Create(ctx, entry); err != nil {
		return fmt.Errorf("enter provider %s into clusterctl's inventory: %w", p.label(), err)
	}
	return nil
}
