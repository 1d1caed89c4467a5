// Package controller puts the reconcilers together into a manager.
package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/crdmigrator"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	bootstrapv1beta1 "github.com/drover-project/drover/api/bootstrap/v1beta1"
	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/controller/bootstrap"
	"github.com/drover-project/drover/internal/controller/controlplane"
)

// Options is what a manager is made from.
type Options struct {
	// Bootstrap and ControlPlane choose the providers.
	Bootstrap, ControlPlane bool
	// Namespace restricts the manager to one namespace, unless it is empty.
	Namespace string
	// WatchFilter restricts it to objects whose label
	// cluster.x-k8s.io/watch-filter has this value, unless it is empty.
	WatchFilter string
	// Concurrency is how many objects each controller works on at a time.
	Concurrency int
	// SyncPeriod is when everything is looked at again without a reason.
	SyncPeriod time.Duration

	// ClusterConcurrency is how many workload clusters are connected to at a
	// time, ClusterQPS and ClusterBurst bound the requests to each.
	ClusterConcurrency int
	ClusterQPS         float32
	ClusterBurst       int

	// Webhooks says how admission and conversion webhooks are served.
	Webhooks Webhooks
	// DataLimits is how large bootstrap data may be, by the kind of the infrastructure.
	DataLimits bootstrap.DataLimits
	// SkipMigrationPhases are the phases of the migration of stored objects
	// that are left out.
	SkipMigrationPhases []crdmigrator.Phase

	// HealthAddress serves /healthz and /readyz.
	HealthAddress string
	// Metrics says how metrics are served.
	Metrics metricsserver.Options

	LeaderElection LeaderElection

	// Trace, when not nil, gets every decision about a control plane.
	Trace controlplane.Trace
}

// LeaderElection lets one of several managers work at a time.
type LeaderElection struct {
	Enabled bool
	// Namespace has the lease. Empty means that of the pod the manager runs in.
	Namespace                                 string
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// leaderID is the name of the lease. The names are those of the provider that
// clusters are taken over from: its managers and ours never work at once.
func (o Options) leaderID() string {
	if o.ControlPlane {
		return "rke2-controlplane-manager-leader-election-capi"
	}
	return "rke2-bootstrap-manager-leader-election-capi"
}

// Scheme has all kinds the reconcilers and webhooks work with, in every served
// version.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme,
		apiextensionsv1.AddToScheme,
		clusterv1.AddToScheme,
		bootstrapv1.AddToScheme,
		controlplanev1.AddToScheme,
		bootstrapv1beta1.AddToScheme,
		controlplanev1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	return scheme, nil
}

// New returns a manager with the chosen reconcilers. It does nothing until it
// is started.
func New(ctx context.Context, config *rest.Config, o Options) (ctrl.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	server, err := o.webhookServer(config, scheme)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, managerOptions(scheme, server, o))
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	for _, add := range []func(string, healthz.Checker) error{mgr.AddHealthzCheck, mgr.AddReadyzCheck} {
		if err := add("ping", healthz.Ping); err != nil {
			return nil, fmt.Errorf("add a health check: %w", err)
		}
	}
	if server != nil {
		if err := addWebhooks(mgr, o); err != nil {
			return nil, err
		}
	}
	if err := addMigration(ctx, mgr, o); err != nil {
		return nil, err
	}
	if o.Bootstrap {
		r := &bootstrap.Reconciler{
			Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), WatchFilter: o.WatchFilter,
			CrossNamespaceReferences: o.Webhooks.CrossNamespaceReferences, Limits: o.DataLimits,
		}
		if err := r.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: o.Concurrency}); err != nil {
			return nil, err
		}
	}
	if o.ControlPlane {
		if err := addControlPlane(ctx, mgr, o); err != nil {
			return nil, err
		}
	}
	return mgr, nil
}

func managerOptions(scheme *runtime.Scheme, server webhook.Server, o Options) ctrl.Options {
	options := ctrl.Options{
		Scheme:                     scheme,
		LeaderElection:             o.LeaderElection.Enabled,
		LeaderElectionID:           o.leaderID(),
		LeaderElectionNamespace:    o.LeaderElection.Namespace,
		LeaderElectionResourceLock: "leases",
		// A stopped manager hands over at once instead of after the lease.
		LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress:        o.HealthAddress,
		Metrics:                       o.Metrics,
		WebhookServer:                 server,
		NewClient:                     newClient,
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.ConfigMap{}}}},
		Cache: cache.Options{
			SyncPeriod: &o.SyncPeriod,
			// Only Secrets of clusters are kept in memory. Others, which
			// users bring, are read when they are needed (newClient).
			ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: hasLabel(clusterv1.ClusterNameLabel)}},
		},
	}
	if o.Namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	if o.LeaderElection.Enabled {
		options.LeaseDuration = &o.LeaderElection.LeaseDuration
		options.RenewDeadline = &o.LeaderElection.RenewDeadline
		options.RetryPeriod = &o.LeaderElection.RetryPeriod
	}
	return options
}

func hasLabel(key string) labels.Selector {
	requirement, err := labels.NewRequirement(key, selection.Exists, nil)
	if err != nil {
		panic(fmt.Sprintf("label %s: %v", key, err))
	}
	return labels.NewSelector().Add(*requirement)
}
