package compat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// stubEndpoint is an address reserved for documentation: nothing answers there.
	stubEndpoint = "192.0.2.10"
	stubPort     = 6443
	// requestTimeout bounds one request to the management cluster.
	requestTimeout = 30 * time.Second
)

// stubClusters plays the infrastructure provider of one kind of cluster: it
// gives it an endpoint and calls it provisioned. Nobody plays the machines.
type stubClusters struct {
	client client.Client
	kind   schema.GroupVersionKind
}

// startInfrastructure starts one controller for each kind of infrastructure
// cluster and returns once they work. They end with ctx.
func startInfrastructure(ctx context.Context, config *rest.Config, kinds []schema.GroupVersionKind) error {
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
	})
	if err != nil {
		return fmt.Errorf("stub infrastructure: %w", err)
	}
	for _, kind := range kinds {
		if !strings.HasSuffix(kind.Kind, "Cluster") {
			continue
		}
		r := &stubClusters{client: manager.GetClient(), kind: kind}
		if err := ctrl.NewControllerManagedBy(manager).Named(strings.ToLower(kind.Kind)).For(r.object()).Complete(r); err != nil {
			return fmt.Errorf("stub infrastructure: %s: %w", kind.Kind, err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	select {
	case <-manager.Elected():
		return nil
	case err := <-ended:
		return fmt.Errorf("stub infrastructure: %w", err)
	case <-time.After(servedTimeout):
		return errors.New("stub infrastructure: its objects cannot be read from the management cluster")
	}
}

func (r *stubClusters) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(r.kind)
	return o
}

// Reconcile implements reconcile.Reconciler.
func (r *stubClusters) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	o := r.object()
	if err := r.client.Get(ctx, request.NamespacedName, o); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !ownedByCluster(o) {
		return reconcile.Result{}, nil
	}
	before := o.DeepCopy()
	if err := provision(o); err != nil {
		return reconcile.Result{}, err
	}
	// The status is a subresource, so the two patches touch different parts.
	desired := o.DeepCopy()
	if err := r.client.Patch(ctx, o, client.MergeFrom(before)); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.client.Status().Patch(ctx, desired, client.MergeFrom(before))
}

func ownedByCluster(o *unstructured.Unstructured) bool {
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind == clusterv1.ClusterKind {
			return true
		}
	}
	return false
}

// provision sets what Cluster API's contract expects of a cluster's infrastructure.
func provision(o *unstructured.Unstructured) error {
	host, _, err := unstructured.NestedString(o.Object, "spec", "controlPlaneEndpoint", "host")
	if err != nil {
		return err
	}
	if host == "" {
		endpoint := map[string]any{"host": stubEndpoint, "port": int64(stubPort)}
		if err := unstructured.SetNestedMap(o.Object, endpoint, "spec", "controlPlaneEndpoint"); err != nil {
			return err
		}
	}
	if domains, found, _ := unstructured.NestedSlice(o.Object, "spec", "failureDomains"); found {
		if err := unstructured.SetNestedSlice(o.Object, domains, "status", "failureDomains"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedField(o.Object, true, "status", "initialization", "provisioned")
}
